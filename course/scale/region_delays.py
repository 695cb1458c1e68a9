"""The delay between regions: round trips as they were measured, and how long a message takes one way."""

#: Round trips in milliseconds between data centres of one company, as averages of pings, April 2017; cables stay:
#: https://acomputerscientistlearnsaws.blogspot.com/2017/04/aws-regions.html
ROUND_TRIPS = {
    ("Virginia", "Virginia"): 1.0,
    ("Virginia", "São Paulo"): 119.5,
    ("Virginia", "Frankfurt"): 88.7,
    ("Virginia", "Tokyo"): 145.3,
    ("Virginia", "Sydney"): 230.0,
    ("São Paulo", "Frankfurt"): 194.9,
    ("São Paulo", "Tokyo"): 256.8,
    ("São Paulo", "Sydney"): 322.5,
    ("Frankfurt", "Tokyo"): 236.5,
    ("Frankfurt", "Sydney"): 323.5,
    ("Tokyo", "Sydney"): 103.9,
}
#: place -> its continent.
PLACES = {
    "Virginia": "North America",
    "São Paulo": "South America",
    "Frankfurt": "Europe",
    "Tokyo": "Asia",
    "Sydney": "Australia",
}


def one_way(place: str, other: str) -> int:
    """Return the microseconds that a message takes from one place to another: half of a round trip."""
    round_trip = ROUND_TRIPS.get((place, other), ROUND_TRIPS.get((other, place), ROUND_TRIPS["Virginia", "Virginia"]))
    return int(500 * round_trip + 0.5)
