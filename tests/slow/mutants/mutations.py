"""Which small bugs can be planted in a file: in Python cosmic-ray's, of each the change that is nearest to the code."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from tests.slow.mutants.javascript import bugs_of

OPERATORS = [
    *(f"ReplaceComparisonOperator_{swap}" for swap in ("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")),
    *(f"ReplaceComparisonOperator_{swap}" for swap in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt")),
    *(f"ReplaceBinaryOperator_{swap}" for swap in ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul")),
    *(f"ReplaceBinaryOperator_{swap}" for swap in ("Mod_Mul", "Pow_Mul", "RShift_LShift", "LShift_RShift")),
    *(f"ReplaceBinaryOperator_{swap}" for swap in ("BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitAnd")),
    *(f"ReplaceUnaryOperator_{swap}" for swap in ("USub_UAdd", "Delete_Not", "Delete_Invert")),
    *("AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("NumberReplacer", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"),
    "ExceptionReplacer",
]


@dataclass(frozen=True)
class Mutation:
    """One bug: in `file`, a path below the checkout, the `occurrence`-th place that `operator` can change."""

    file: str
    operator: str
    occurrence: int
    line: int

    def plant(self, text: str) -> str:
        """Return `text`, the file's own, with the bug in it."""
        if self.file.endswith(".js"):
            return bugs_of(text)[self.occurrence][2]
        planted = mutate_code(text, get_operator(f"core/{self.operator}")(), self.occurrence)
        if planted is None:
            raise ValueError(f"{self}: there is no such place any more; look for the mutations again")
        return planted

    def told(self, text: str) -> str:
        """Return the place and what changes there, in three lines."""
        changed = difflib.ndiff(text.splitlines(), self.plant(text).splitlines())
        lines = [line for line in changed if line[:2] in ("- ", "+ ")]
        return "\n".join([f"{self.file}:{self.line} {self.operator}", *lines])


def mutations_of(root: Path, file: str) -> Iterator[Mutation]:
    """Yield every `Mutation` of `file`, but for what is there for types."""
    text = (root / file).read_text(encoding="utf-8")
    if file.endswith(".js"):
        for occurrence, (place, name, _) in enumerate(bugs_of(text)):
            yield Mutation(file, name, occurrence, text.count("\n", 0, place) + 1)
        return
    nodes = list(ast_nodes(get_ast(text)))
    for name in OPERATORS:
        operator, occurrence = get_operator(f"core/{name}")(), 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                if not (_is_for_mypy(node) or _is_unseen(node, name, start, end)):
                    yield Mutation(file, name, occurrence, start[0])
                occurrence += 1


def _is_unseen(node, name, start, end):
    """Whether no test can see a bug there, whatever the code."""
    if name == "ExceptionReplacer":
        return _is_dotted(node, start, end)
    if name == "NumberReplacer":  # a second more or less in a limit of ten seconds and more, which are floats here
        return node.type == "number" and "." in node.value and float(node.value) >= 10
    if name == "ReplaceTrueWithFalse":  # mypy sees who sets a frozen field; strict is said of what is of one length
        return node.parent.type == "argument" and node.parent.children[0].value in ("frozen", "strict")
    return False


def _is_dotted(node, start, end):
    """Whether what stands there is no plain name, as in `except json.JSONDecodeError`: cosmic-ray can't change it."""
    leaf = node.get_leaf_for_position((start[0], start[1] + 1))  # at a leaf's very start it finds the one before
    return leaf.type != "name" or leaf.end_pos != end


def _is_for_mypy(node):
    """Whether `node` lies in an annotation or an `if TYPE_CHECKING`: what is wrong there, mypy sees."""
    while (parent := node.parent) is not None:
        if node.type == "if_stmt" and node.children[1].get_code().strip() == "TYPE_CHECKING":
            return True
        if parent.type == "annassign" and node is parent.children[1]:  # [":", annotation, "=", value]
            return True
        if parent.type == "tfpdef" and node is parent.children[2]:  # [name, ":", annotation]
            return True
        if parent.type == "funcdef" and node.type not in ("parameters", "suite", "simple_stmt"):
            return True
        node = parent
    return False
