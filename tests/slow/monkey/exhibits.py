"""Every exhibit that a reader can touch, as the source of a cell; what trains has a form without processes, too."""

import textwrap

#: name -> a cell whose last line is an exhibit. Where `processes` are named, the cell is for a kernel only.
CELLS = {
    "CourseMap": "from course.widgets import CourseMap\nCourseMap(cores=2)",
    "PlacementExplorer": "from course.widgets import PlacementExplorer\nPlacementExplorer()",
    "MatmulSlider": "from course.widgets import MatmulSlider\nMatmulSlider(size=64)",
    "StopwatchComparison": "from course.widgets import StopwatchComparison\nStopwatchComparison()",
    "RooflineExplorer": "from course.widgets import RooflineExplorer\nRooflineExplorer()",
    "LifePlayer": "from course.widgets import LifePlayer\nLifePlayer()",
    "LifePlayer, few": "from course.widgets import LifePlayer\nLifePlayer(pattern='acorn', controls='few', speed=60.0)",
    "film": """
        from course import life
        from course.widgets.life.player import animate
        board = life.empty(8, 8)
        board[:3, :3] = life.pattern("glider")
        animate(board, 12)""",
    "SliceMean": "from course.widgets import SliceMean\nSliceMean()",
    "PiDarts": "from course.widgets import PiDarts\nPiDarts(samples=2000)",
    "ParameterStore": "from course.widgets import ParameterStore\nParameterStore()",
    "RingAllReduce": "from course.widgets import RingAllReduce\nRingAllReduce()",
    "RequestDots": "from course.widgets import RequestDots\nRequestDots(rate=300)",
    "Continents": "from course.widgets import Continents\nContinents()",
    "DigitPad": """
        import numpy
        from course.widgets import DigitPad

        def network(images):
            return 9.0 * numpy.eye(10, dtype=numpy.float32)[(images.sum(axis=1) % 10).astype(int)]

        DigitPad({"one": network, "other": network}, numpy.linspace(0, 1, 2 * 784).reshape(2, 784), [1, 7])""",
    "DigitPad, no server": """
        import numpy
        from course.widgets import DigitPad
        DigitPad("http://127.0.0.1:9", numpy.zeros((1, 784)), [1])""",
    "ClusterTimeline": """
        from course.cluster.tape.record import Bar, Event, Mark, Move, Record
        from course.widgets import ClusterTimeline

        lanes = ["this process", "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
        bars = [Bar(2 + at % 2, at % 2, 1000 * at, 700 + 90 * (at % 7), 1000 * at) for at in range(60)]
        edges = [(at, at + 2) for at in range(58)]
        moves = [Move(2 + at % 2, 1, 1000 * at, 120, 8000) for at in range(60)]
        events = [Event(31_500, "gone", 3), Event(35_000, "joined", 3)]
        record = Record(lanes, ["map", "reduce"], bars, edges, moves, [Mark(1, 9000, 1)], events, 62_000)
        ClusterTimeline(record, record)""",
    "Predict": "from course.widgets import Predict\nnumber = Predict('How many?', 0, 6, name='91 number')\nnumber",
    "Predict, log": """
        from course.widgets import Predict
        log = Predict("How far?", 1, 1e6, log=True, unit="m", each=["here", "there"], name="91 log")
        log""",
    "Predict, choice": """
        from course.widgets import Predict
        choice = Predict("Which?", choices=["cpu", "gpu", "neither"], name="91 choice")
        choice""",
    "Predict, line": """
        from course.widgets import Predict
        line = Predict("How fast?", 0.0, 10.0, over=[1, 8, 100, 1000], across="workers", name="91 line")
        line""",
    "Answer": "number.reveal(3, 'Three of them.', stored=4)",
    "Answer, log": "log.reveal({'here': 30, 'there': 2e7}, 'Far.')",
    "Answer, choice": "choice.reveal('gpu', 'It is larger.')",
    "Answer, line": "line.reveal([1, 2, 3, 4], 'It grows.')",
    "Scorecard": "from course.widgets import Scorecard\nScorecard(number, log, choice, line, challenge='Beat it.')",
}
#: What trains: name -> (a cell without processes, a cell for a kernel).
TRAINING = {
    "Dashboard": (
        """
        from functools import partial
        import torch
        from course.training import linear_regression, train_in_turns
        from course.widgets import Dashboard
        dashboard = Dashboard("monkey")
        sgd = partial(torch.optim.SGD, lr=0.02)
        train_in_turns(linear_regression(), optimizer=sgd, workers=3, total_steps=300, hooks=[dashboard])
        dashboard""",
        None,  # the same: there it shows itself while it trains, and then again
    ),
    "RegressionLab": (
        """
        from tests.slow.monkey.without_processes import Regression
        Regression(steps=200).wait()""",
        "from course.widgets import RegressionLab\nRegressionLab(steps=200)",
    ),
    "FailureLab": (
        """
        from tests.slow.monkey.without_processes import Failures
        Failures(seconds=1.0).wait()""",
        "from course.widgets import FailureLab\nFailureLab(seconds=3.0)",
    ),
}


def cells(processes: bool) -> dict[str, str]:
    """Return name -> source of every exhibit's cell; those that train have `processes` of their own, or none."""
    trained = {name: both[processes] or both[0] for name, both in TRAINING.items()}
    return {name: textwrap.dedent(source).strip() for name, source in {**CELLS, **trained}.items()}


def made(source: str, names: dict) -> object:
    """Run a cell in `names`, as a kernel does, and return what its last line gives."""
    *body, last = source.rsplit("\n", 1)
    exec("\n".join(body), names)
    return eval(last, names)
