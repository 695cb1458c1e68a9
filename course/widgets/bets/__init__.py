"""Bets: a guess before a measurement, the guess in the picture of the result, and a card of all at a chapter's end.

In this order of reading: `guess` (what may be guessed, and in which words), `predict` (the bet), `answer` (its result,
folded until the guess is made), `scorecard`. The page joins guess and result; no kernel is asked. `kept.js` keeps the
guesses, `axes.js` draws, and one script draws each of the three.
"""
