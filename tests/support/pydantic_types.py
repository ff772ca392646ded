"""Types of Pydantic: those that its documentation names, bounds of them, and models that use them.

`TYPES` has them by name. `UNCHECKED` are those that a function decides in Python, or that need more
than the text, such as a file: whoever asks for them is warned. `IMPOSSIBLE` are read from no JSON.
`ACCEPTED` are texts that have to be possible.
"""

# No `from __future__ import annotations`: Pydantic reads the annotations of classes in this module.

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import typing
import uuid
import zoneinfo
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Self

import annotated_types as at
import pydantic
import pydantic.dataclasses
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, Json
from typing_extensions import TypeAliasType, TypedDict

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=5))
Date, Datetime, Time, Timedelta = (
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
)
Decimal = decimal.Decimal


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Letter(enum.StrEnum):
    A = "a"
    B = "b"


class Ratio(float, enum.Enum):
    HALF = 0.5


class Prefixed(enum.StrEnum):
    A = "a"

    def __new__(cls, value: str) -> Self:
        made = str.__new__(cls, f"x{value}")
        made._value_ = value
        return made


class Mixed(enum.Enum):
    """What JSON can hold, and what it cannot."""

    ONE = 1
    TEXT = "t"
    LIST = [1, 2]  # noqa: RUF012 - a member
    PAIR = (3, 4)
    BYTES = b"z"


class OfLetterA(BaseModel):
    letter: Literal[Letter.A]
    n: int


class OfLetterB(BaseModel):
    letter: Literal[Letter.B]
    text: str


class Flag(enum.IntFlag):
    A = 1
    B = 2


class Pair(typing.NamedTuple):
    x: int
    y: str


class Record(TypedDict):
    a: int
    b: NotRequired[str]


@dataclass
class Plain:
    a: int
    b: list[str] = field(default_factory=list)


class Model(BaseModel):
    a: int
    b: str | None = None


class Alias(BaseModel):
    a: int = Field(alias="x")


class Path(BaseModel):
    a: int = Field(validation_alias=AliasPath("x", "y"))


class PathOfIndex(BaseModel):
    a: int = Field(validation_alias=AliasPath("x", 1))


class Choices(BaseModel):
    a: int = Field(validation_alias=AliasChoices("x", "y"))


class ChoiceOfPaths(BaseModel):
    a: int = Field(validation_alias=AliasChoices("x", AliasPath("z", 0)))


class Paths(BaseModel):
    a: int = Field(validation_alias=AliasPath("x", "y"))
    b: str = Field(validation_alias=AliasPath("x", "z"), default="q")
    c: int = Field(validation_alias=AliasPath("l", 2))
    e: int = Field(validation_alias=AliasPath("l", 0))


@pydantic.dataclasses.dataclass
class PathOfDataclass:
    a: int = Field(validation_alias=AliasPath("x", "y"))


class PathOfRecord(TypedDict):
    a: Annotated[int, Field(validation_alias=AliasChoices(AliasPath("x", "y")))]


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_name=True)
    a: int = Field(alias="x")


class ByNameAlone(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)
    a: int = Field(alias="x")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    a: int
    f: float
    d: Date
    e: Color
    t: tuple[int, str]
    s: set[int]
    b: bytes
    n: Decimal


class Forbid(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Allow(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class AllowNumbers(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: int


class Lower(BaseModel):
    model_config = ConfigDict(
        str_to_lower=True, str_min_length=2, str_max_length=5, str_strip_whitespace=True
    )
    a: str


class Cat(BaseModel):
    kind: Literal["cat"]
    n: int


class Dog(BaseModel):
    kind: Literal["dog"]
    s: str


class Tax(BaseModel):
    kind: Literal["tax"] = "tax"
    n: int = 0


@dataclasses.dataclass
class Fee:
    kind: Literal["fee"] = "fee"


class Bill(BaseModel):
    """Tags that have a default, as Pydantic's documents write them."""

    one: Tax | Fee = Field(discriminator="kind")
    many: list[Annotated[Tax | Fee, Field(discriminator="kind")]]
    maybe: Annotated[Tax | Fee, Field(discriminator="kind")] | None = None


class Owner(BaseModel):
    pet: Cat | Dog = Field(discriminator="kind")


def _kind(value: Any) -> Any:
    return value.get("kind") if isinstance(value, dict) else value.kind


class OwnerByFunction(BaseModel):
    pet: Annotated[
        Annotated[Cat, pydantic.Tag("cat")] | Annotated[Dog, pydantic.Tag("dog")],
        pydantic.Discriminator(_kind),
    ]


class Tree(BaseModel):
    v: int
    kids: list["Tree"] = []


class Root(pydantic.RootModel[list[int]]):
    pass


class Even(BaseModel):
    a: int

    @pydantic.field_validator("a")
    @classmethod
    def is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value


class Ordered(BaseModel):
    a: int
    b: int

    @pydantic.model_validator(mode="after")
    def is_ordered(self) -> "Ordered":
        if self.a > self.b:
            raise ValueError("not in order")
        return self


class Computed(BaseModel):
    a: int

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def c(self) -> int:
        return self.a


Item = typing.TypeVar("Item")


class Generic(BaseModel, typing.Generic[Item]):
    x: Item


class Finite(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)
    f: float


class Defaults(BaseModel):
    a: int = Field(default=3, gt=2)
    b: Annotated[str, Field(pattern="^a+$")]


class Hexadecimal(BaseModel):
    model_config = ConfigDict(val_json_bytes="hex")
    b: Annotated[bytes, Field(min_length=1, max_length=3)]


class Base64(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    b: bytes


class Inner(BaseModel):
    when: pydantic.PastDate
    keys: dict[Annotated[int, Field(gt=3)], pydantic.UUID4] = {}
    j: Json[list[Literal["a", "b"]]] = "[]"  # type: ignore[assignment]


class Outer(BaseModel):
    x: Annotated[Decimal, Field(gt=0, max_digits=6, decimal_places=2)] | None = None
    y: list[Inner] = []
    d: dict[Color, Owner] = {}


BOUNDED = {
    "condate": pydantic.condate(ge=Date(2020, 1, 1), lt=Date(2021, 1, 1)),
    "date_gt": Annotated[Date, Field(gt=Date(2024, 2, 28))],
    "date_two": Annotated[Date, Field(ge=Date(2024, 2, 28), le=Date(2024, 2, 29))],
    "past_date_ge": Annotated[pydantic.PastDate, Field(ge=Date(2020, 1, 1))],
    "datetime_gt": Annotated[Datetime, Field(gt=Datetime(2020, 1, 1))],
    "datetime_aware": Annotated[
        pydantic.AwareDatetime,
        Field(ge=Datetime(2020, 5, 6, tzinfo=UTC), lt=Datetime(2020, 6, 1, tzinfo=EAST)),
    ],
    "datetime_le_aware": Annotated[
        Datetime, Field(le=Datetime(2020, 5, 6, 7, 8, 9, 123, tzinfo=EAST))
    ],
    "datetime_two_seconds": Annotated[
        Datetime, Field(gt=Datetime(2020, 5, 6, 7, 8, 9, 123), lt=Datetime(2020, 5, 6, 7, 8, 11))
    ],
    "datetime_naive": Annotated[pydantic.NaiveDatetime, Field(ge=Datetime(2020, 5, 6))],
    "time_le": Annotated[Time, Field(le=Time(12, 30))],
    "time_range": Annotated[Time, Field(gt=Time(9, 0), lt=Time(17, 30, 15, 5))],
    "time_aware": Annotated[Time, Field(ge=Time(9, 0, tzinfo=EAST))],
    "timedelta_le": Annotated[Timedelta, Field(ge=Timedelta(0), le=Timedelta(days=2))],
    "timedelta_gt": Annotated[Timedelta, Field(gt=Timedelta(hours=1, minutes=5))],
    "timedelta_lt": Annotated[Timedelta, Field(lt=Timedelta(seconds=90))],
    "timedelta_range": Annotated[
        Timedelta, Field(ge=Timedelta(days=3, hours=4), lt=Timedelta(days=3, hours=6, seconds=1))
    ],
    "decimal_range": pydantic.condecimal(ge=Decimal("1.5"), le=Decimal("2.5")),
    "decimal_gt": pydantic.condecimal(gt=Decimal(0)),
    "decimal_lt": pydantic.condecimal(lt=Decimal("1.5")),
    "decimal_below_zero": pydantic.condecimal(lt=Decimal(-2), gt=Decimal(-7)),
    "decimal_multiple": pydantic.condecimal(multiple_of=Decimal("0.25")),
    "decimal_digits": pydantic.condecimal(max_digits=3),
    "decimal_places": pydantic.condecimal(decimal_places=2),
    "decimal_money": pydantic.condecimal(max_digits=10, decimal_places=2, ge=Decimal(0)),
    "decimal_all": pydantic.condecimal(
        gt=Decimal(0), lt=Decimal(1), max_digits=4, decimal_places=3
    ),
    "conint": pydantic.conint(ge=3, lt=9, multiple_of=2),
    "confloat": pydantic.confloat(gt=0.5, le=1),
    "confloat_multiple": pydantic.confloat(multiple_of=0.5),
    "constr": pydantic.constr(min_length=2, max_length=4, to_upper=True),
    "constr_strip": pydantic.constr(strip_whitespace=True, min_length=3),
    "constr_pattern": pydantic.constr(pattern=r"^\d{3}$"),
    "constr_strip_pattern": pydantic.constr(strip_whitespace=True, pattern=r"^\S{2}"),
    "constr_upper_pattern": pydantic.constr(to_upper=True, pattern="^[a-z]+$"),
    "conbytes": pydantic.conbytes(min_length=2, max_length=4),
    "conbytes_min": pydantic.conbytes(min_length=3),
    "conlist": pydantic.conlist(int, min_length=1, max_length=3),
    "conset": pydantic.conset(int, min_length=2, max_length=3),
    "conset_enum": pydantic.conset(Color, min_length=2),
    "confrozenset": pydantic.confrozenset(int, min_length=2),
    "deque_max": Annotated[collections.deque[int], Field(max_length=2)],
    "dict_lengths": Annotated[dict[str, int], Field(min_length=1, max_length=2)],
    "annotated": Annotated[int, at.Ge(3), at.Lt(9)],
    "interval": Annotated[float, at.Interval(gt=0, le=3)],
    "multiple": Annotated[int, at.MultipleOf(7)],
    "length": Annotated[list[int], at.Len(1, 2)],
    "lower_case": at.LowerCase[str],
    "upper_case": at.UpperCase[str],
    "digits": at.IsDigits[str],
    "ascii": at.IsAscii[str],
    "predicate": Annotated[str, at.Predicate(str.isalnum)],
    "is_finite": at.IsFinite[float],
    "url_schemes": Annotated[
        pydantic.AnyUrl, pydantic.UrlConstraints(allowed_schemes=["s3", "gs"], max_length=40)
    ],
    "url_short": Annotated[pydantic.HttpUrl, pydantic.UrlConstraints(max_length=20)],
    "uuid_strict": Annotated[uuid.UUID, pydantic.Strict()],
}

_NAMES_OF_PYDANTIC = [
    "AwareDatetime",
    "NaiveDatetime",
    "PastDatetime",
    "FutureDatetime",
    "PastDate",
    "FutureDate",
    "UUID1",
    "UUID3",
    "UUID4",
    "UUID5",
    "UUID6",
    "UUID7",
    "UUID8",
    "IPvAnyAddress",
    "IPvAnyNetwork",
    "IPvAnyInterface",
    "AnyUrl",
    "AnyHttpUrl",
    "HttpUrl",
    "FileUrl",
    "FtpUrl",
    "WebsocketUrl",
    "AnyWebsocketUrl",
    "PostgresDsn",
    "CockroachDsn",
    "AmqpDsn",
    "RedisDsn",
    "MongoDsn",
    "KafkaDsn",
    "NatsDsn",
    "MySQLDsn",
    "MariaDBDsn",
    "ClickHouseDsn",
    "SnowflakeDsn",
    "EmailStr",
    "NameEmail",
    "Base64Str",
    "Base64Bytes",
    "Base64UrlStr",
    "Base64UrlBytes",
    "Json",
    "JsonValue",
    "SecretStr",
    "SecretBytes",
    "ByteSize",
    "StrictInt",
    "StrictFloat",
    "StrictBool",
    "StrictStr",
    "StrictBytes",
    "FiniteFloat",
    "PositiveInt",
    "NegativeInt",
    "NonPositiveInt",
    "NonNegativeInt",
    "PositiveFloat",
    "NegativeFloat",
    "NonNegativeFloat",
    "NonPositiveFloat",
    "FilePath",
    "DirectoryPath",
    "NewPath",
    "SocketPath",
    "ImportString",
]

_OF_PYTHON = [
    *(int, float, bool, str, bytes, type(None), Any, object, complex, fractions.Fraction),
    *(list, list[int], tuple, tuple[int, str], tuple[int, ...], tuple[()]),
    *(set[int], frozenset[int], collections.deque[int], set[str]),
    *(dict, dict[str, int], collections.defaultdict[str, int], collections.OrderedDict[str, int]),
    *(collections.Counter[str], typing.Mapping[str, int], typing.Sequence[int]),
    *(typing.Sequence[str], typing.Iterable[int], typing.Hashable),
    *(int | None, int | str, Annotated[int | str, Field(union_mode="left_to_right")]),
    *(Literal["a", 1, True, None], Color, Number, Letter, Flag),
    *(Datetime, Date, Time, Timedelta, Decimal, uuid.UUID, pathlib.Path, re.Pattern),
    *(ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network),
    *(ipaddress.IPv6Network, ipaddress.IPv4Interface, ipaddress.IPv6Interface, zoneinfo.ZoneInfo),
    *(typing.NewType("UserId", int), TypeAliasType("Whole", int)),
    *(list[typing.NewType("Key", uuid.UUID)], pydantic.StrictInt | pydantic.StrictStr),
    *(Pair, Record, Plain, Model, Cat | Dog, list[Model | None], tuple[Model, ...]),
]
_KEYS = [
    *(int, float, bool, Date, uuid.UUID, Color, Literal["a", "b"], Decimal, Number, int | Date),
    *(Annotated[str, Field(min_length=2, max_length=3)], Annotated[int, Field(ge=1, le=5)]),
    *(int | None, Annotated[int, Field(gt=3)], Annotated[float, Field(ge=0, le=1)], Letter),
    *(ipaddress.IPv4Address, bytes, typing.NewType("KeyOfDict", int)),
]
_IN_JSON = [
    *(int, list[int], Model, list, dict[str, int], float | None),
    *(Annotated[str, Field(min_length=2, max_length=3)], Literal["a", 1]),
]
_MODELS = [
    *(Alias, Path, PathOfIndex, Choices, ChoiceOfPaths, Paths, PathOfDataclass, PathOfRecord),
    *(
        ByName,
        ByNameAlone,
        Strict,
        Forbid,
        Allow,
        AllowNumbers,
        Lower,
        Owner,
        OwnerByFunction,
        Bill,
    ),
    *(Tree, Root, Computed, Generic[int], Finite, Defaults, Hexadecimal, Base64, Inner, Outer),
]

TYPES: dict[str, Any] = {
    **{str(each): each for each in _OF_PYTHON},
    **{name: getattr(pydantic, name) for name in _NAMES_OF_PYDANTIC},
    "Secret": pydantic.Secret[int],
    "Secret of a date": pydantic.Secret[Date],
    "SkipValidation": pydantic.SkipValidation[int],
    "InstanceOf": pydantic.InstanceOf[int],
    "FailFast": Annotated[list[int], pydantic.FailFast()],
    "SerializeAsAny": pydantic.SerializeAsAny[Model],
    **{f"dict of {each}": dict[each, int] for each in _KEYS},  # type: ignore[valid-type]
    **{f"Json of {each}": Json[each] for each in _IN_JSON},
    "dict of HttpUrl": dict[pydantic.HttpUrl, int],
    "list of Json": list[Json[int]],
    "Json of a tree": Json[Tree],
    "dict of pairs": dict[tuple[int, int], int],
    "AfterValidator": Annotated[int, pydantic.AfterValidator(lambda value: value)],
    "BeforeValidator": Annotated[int, pydantic.BeforeValidator(lambda value: value)],
    "WrapValidator": Annotated[int, pydantic.WrapValidator(lambda value, read: read(value))],
    "PlainValidator": Annotated[int, pydantic.PlainValidator(lambda value: int(str(value)))],
    "Predicate of a function": Annotated[int, at.Predicate(lambda value: value > 3)],
    "Even": Even,
    "Ordered": Ordered,
    "type[int]": type[int],
    "Callable": typing.Callable[[int], int],
    "Literal of a member": Literal[Color.RED],
    "Literal of bytes": Literal[b"a"],
    "Literal of nothing": Literal[()],
    "Literal of texts and numbers of enumerations": Literal[
        Letter.A, Number.ONE, Ratio.HALF, Prefixed.A, Color.RED, b"a"  # type: ignore[valid-type]
    ],
    "dict of Mixed": dict[Mixed, int],
    "dict of Ratio": dict[Ratio, int],
    "dict of Prefixed": dict[Prefixed, int],
    "dict of Literal numbers": dict[Literal[1, 2], int],
    "Mixed": Mixed,
    "Prefixed": Prefixed,
    "union told apart by members": Annotated[OfLetterA | OfLetterB, Field(discriminator="letter")],
    "multiple of a tenth": Annotated[float, Field(multiple_of=0.1)],
    **{each.__name__: each for each in _MODELS},
    **BOUNDED,
}
UNCHECKED = frozenset(
    [
        *("FilePath", "DirectoryPath", "NewPath", "SocketPath", "ImportString"),
        *("AfterValidator", "BeforeValidator", "WrapValidator", "PlainValidator"),
        *("Predicate of a function", "Even", "Ordered", "multiple of a tenth"),
        *("Json of a tree", "dict of pairs", "dict of HttpUrl", "OwnerByFunction"),
    ]
)
IMPOSSIBLE = frozenset(
    [
        *("type[int]", "Callable"),
        *("Literal of a member", "Literal of bytes", "Literal of nothing"),
    ]
)

ACCEPTED = {
    str(Datetime): ["2024-02-29T10:00:00", "2024-02-29T10:00:00.5+02:00", "2024-02-29 10:00:00Z"],
    str(Time): ["10:00:00", "10:00:00.25Z"],
    str(Timedelta): ["P3DT4H", "PT30M", "P1Y2M3DT4H5M6.5S", "P2W", "-P1DT2H", "-PT0.5S"],
    "NaiveDatetime": ["2024-02-29T10:00:00"],
    "AwareDatetime": ["2024-02-29T10:00:00Z", "2024-02-29T10:00:00-05:00"],
    "PastDate": ["1999-12-31"],
    "FutureDate": ["2999-12-31"],
    str(Decimal): ["12.50", "-3"],
    "decimal_money": ["12345678.99", "0.5"],
    str(complex): ["1+2j", "-1.5j", "3"],
    str(fractions.Fraction): ["1/3", "-2.5"],
    "UUID4": ["123e4567-e89b-42d3-a456-426614174000"],
    "UUID7": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    "IPvAnyAddress": ["10.0.0.1", "::1", "2001:db8::8:800:200c:417a"],
    "IPvAnyNetwork": ["10.0.0.0/8", "2001:db8::/32", "192.168.1.128/25"],
    "IPvAnyInterface": ["10.0.0.1/8", "::1/128"],
    "HttpUrl": ["https://example.com", "http://user:pw@localhost:8080/a/b.html?q=1&r=%20#top"],
    "AnyUrl": ["mailto:a@example.com", "s3://bucket/key", "file:///etc/hosts", "https://a.b"],
    "PostgresDsn": ["postgresql://user:pw@db1:5432,db2:5433/app?sslmode=require"],
    "FileUrl": ["file:///home/me/notes.txt"],
    "EmailStr": ["ada.lovelace+maths@mail.example.org"],
    "NameEmail": ["Ada Lovelace <ada@example.org>", "ada@example.org"],
    "Base64Str": ["aGVsbG8=", "aGk=", ""],
    "Base64Bytes": ["/+8=", "AAECAw=="],
    "Base64UrlBytes": ["_-8="],
    "ByteSize": ["3.5 GiB", "512MB", "10"],
    str(zoneinfo.ZoneInfo): ["Europe/Berlin", "UTC"],
    "Json": ["[1, 2]", '{"a": null}', "3"],
    f"Json of {Model}": ['{"a": 1, "b": "x"}', '{"a": 1}'],
    "lower_case": ["abc 1"],
    "upper_case": ["ABC 1"],
    "digits": ["0123"],
    "condate": ["2020-02-29", "2020-12-31"],
    "timedelta_le": ["P2D", "P1DT23H", "PT0S"],
    "timedelta_lt": ["PT1M29S", "-P2DT1S"],
    "constr_strip": ["a b c"],
}
