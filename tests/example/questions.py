"""What a newcomer may ask the example workspace, and what a right answer says.

The expected facts are worked out by `flights_facts` from the files, with plain Python. `HELD_OUT` was written once,
before the workspace could be asked, and nothing in the workspace was tuned on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flights_facts import Facts

__all__ = [
    "AMBIGUOUS",
    "ANSWERED",
    "ELSEWHERE",
    "HELD_OUT",
    "INCOMPLETE",
    "SMALL_TALK",
    "UNANSWERABLE",
    "Ambiguous",
    "Asked",
]


@dataclass(frozen=True)
class Asked:
    """`says` gives texts that stand in the answer, in this order. `tool` None: the data cannot answer it."""

    question: str
    tool: str | None = None
    says: Callable[[Facts], list[str]] = lambda facts: []


@dataclass(frozen=True)
class Ambiguous:
    """A question that must be asked back; `choices` stand in the reply; `then` is said next and settles it."""

    question: str
    choices: list[str]
    then: str
    tool: str
    says: Callable[[Facts], list[str]]


def _direct(origin: str) -> Callable[[Facts], list[str]]:
    """How many airports were reached, and all of them by code, the most flown first (up to the tool's 50)."""

    def says(facts: Facts) -> list[str]:
        ends = facts.direct(origin)
        return [str(len(ends)), facts.airports[origin].name, *(f"({code})" for code in ends[:50])]

    return says


def _nonstop(origin: str, destination: str) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        names = [facts.airports[origin].name, facts.airports[destination].name]
        flown = facts.flights.get((origin, destination))
        return ["Yes", *names, "2008", str(flown)] if flown else ["No direct route", *names]

    return says


def _stops(origin: str, destination: str) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        stops = facts.stops(origin, destination)
        names = [facts.airports[origin].name, facts.airports[destination].name]
        legs = [(f"({s};", str(facts.flights[origin, s]), str(facts.flights[s, destination])) for s in stops[:5]]
        return [str(len(stops)), *names, *(text for leg in legs for text in leg)]

    return says


def _between(origin: str, destination: str) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        a, b = facts.airports[origin].name, facts.airports[destination].name
        there, back = facts.flights.get((origin, destination)), facts.flights.get((destination, origin))
        said = [str(there), a, b, "2008"] if there else []
        return said + ([str(back), b, a, "2008"] if back else [])

    return says


def _far(origin: str, destination: str) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        names = [facts.airports[origin].name, facts.airports[destination].name]
        return [*names, f"{round(facts.kilometres(origin, destination), 1)} km"]

    return says


def _about(code: str) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        airport = facts.airports[code]
        place = airport.city or airport.country
        position = [f"{airport.latitude}", f"{airport.longitude}"]
        return [airport.name, f"({code})", place, *position]

    return says


def _located(**where: str) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        codes = facts.located(**where)
        departures = dict.fromkeys(codes, 0)
        for (origin, _), flown in facts.flights.items():
            if origin in departures:
                departures[origin] += flown
        first = sorted(codes, key=lambda code: (-departures[code], code))[:25]
        return [str(len(codes)), *where.values(), *(f"({code})" for code in first)]

    return says


def _busiest(limit: int, state: str | None = None) -> Callable[[Facts], list[str]]:
    def says(facts: Facts) -> list[str]:
        total = facts.traffic()
        codes = facts.busiest(state)[:limit]
        return [*([state] if state else []), "2008", *(f"({code}, {total[code]}" for code in codes)]

    return says


ANSWERED = [
    # Without a stop
    Asked("Which airports can I reach directly from Boise?", "find_direct_routes", _direct("BOI")),
    Asked("Where can I fly nonstop from BOI?", "find_direct_routes", _direct("BOI")),
    Asked("what are the nonstop destinations of Spokane", "find_direct_routes", _direct("GEG")),
    Asked("List all direct flights out of Missoula International.", "find_direct_routes", _direct("MSO")),
    Asked("Is there a direct flight from Boise to Seattle?", "find_direct_routes", _nonstop("BOI", "SEA")),
    Asked("can i fly nonstop from boise to miami", "find_direct_routes", _nonstop("BOI", "MIA")),
    Asked("Does ATL have a direct flight to LAX?", "find_direct_routes", _nonstop("ATL", "LAX")),
    # With one stop
    Asked("How do I get from Boise to Miami with one stop?", "find_indirect_routes", _stops("BOI", "MIA")),
    Asked("Find a connection from Fargo to Honolulu with a layover", "find_indirect_routes", _stops("FAR", "HNL")),
    Asked("Where can I change planes between Billings and Boston?", "find_indirect_routes", _stops("BIL", "BOS")),
    Asked("one-stop routes from EUG to JFK", "find_indirect_routes", _stops("EUG", "JFK")),
    # How often
    Asked("How many flights were there from Boise to Seattle?", "flights_between", _between("BOI", "SEA")),
    Asked("how often was the route from ATL to LAX flown?", "flights_between", _between("ATL", "LAX")),
    Asked("Number of flights between Denver and Salt Lake City", "flights_between", _between("DEN", "SLC")),
    Asked("How many flights went from Honolulu to Maui?", "flights_between", _between("HNL", "OGG")),
    Asked("How many flights were there from Allentown to BHM in 2008?", "flights_between", _between("ABE", "BHM")),
    # How far
    Asked("How far is it from Boise to Seattle?", "distance", _far("BOI", "SEA")),
    Asked("distance between JFK and LAX in km", "distance", _far("JFK", "LAX")),
    Asked("How far apart are Anchorage and Fairbanks?", "distance", _far("ANC", "FAI")),
    Asked("how many kilometers is it from Denver to Miami", "distance", _far("DEN", "MIA")),
    # About one
    Asked("Tell me about Boise Air Terminal", "airport_info", _about("BOI")),
    Asked("Where is the airport with the code PDX?", "airport_info", _about("PDX")),
    Asked("What are the coordinates of Denver Intl?", "airport_info", _about("DEN")),
    Asked("what is the code of Missoula International", "airport_info", _about("MSO")),
    # Where
    Asked("Which airports are in Rhode Island?", "airports_in", _located(state="Rhode Island")),
    Asked("How many airports does Alaska have?", "airports_in", _located(state="Alaska")),
    Asked("list the airports in Boise", "airports_in", _located(city="Boise, Idaho")),
    Asked("What airports are there in Thailand?", "airports_in", _located(country="Thailand")),
    Asked("Show me the airports of Chicago", "airports_in", _located(city="Chicago, Illinois")),
    Asked("Are there any airports in Guam?", "airports_in", _located(state="Guam")),
    Asked("how many airfields are there in Wyoming", "airports_in", _located(state="Wyoming")),
    Asked("airports in Portland, Oregon", "airports_in", _located(city="Portland, Oregon")),
    # The most
    Asked("What are the busiest airports?", "busiest_airports", _busiest(10)),
    Asked("Which airport in Texas has the most flights?", "busiest_airports", _busiest(10, "Texas")),
    Asked("the busiest airport of Montana", "busiest_airports", _busiest(10, "Montana")),
    Asked("Show the top 3 airports by traffic", "busiest_airports", _busiest(3)),
    Asked("What is the biggest airport in California?", "busiest_airports", _busiest(10, "California")),
    # In other words
    Asked("Where does Helena have flights to?", "find_direct_routes", _direct("HLN")),
    Asked("I am in Juneau, which cities have direct flights from here?", "find_direct_routes", _direct("JNU")),
    Asked("direct connections from Bozeman please", "find_direct_routes", _direct("BZN")),
    Asked("Do planes go from Reno to Boston without stopping?", "find_direct_routes", _nonstop("RNO", "BOS")),
    Asked("Was there a nonstop service from JFK to SFO?", "find_direct_routes", _nonstop("JFK", "SFO")),
    Asked(
        "What is the best way to get from Fargo to Miami with one layover?",
        "find_indirect_routes",
        _stops("FAR", "MIA"),
    ),
    Asked("Which airports connect Boise and Boston?", "find_indirect_routes", _stops("BOI", "BOS")),
    Asked("flights from Eugene to Orlando with a stopover", "find_indirect_routes", _stops("EUG", "MCO")),
    Asked("Count the flights from Phoenix to Las Vegas", "flights_between", _between("PHX", "LAS")),
    Asked("how many times did planes fly from Miami to Tampa", "flights_between", _between("MIA", "TPA")),
    Asked("How busy was the route between Atlanta and Orlando?", "flights_between", _between("ATL", "MCO")),
    Asked("What is the distance from Honolulu to New Orleans?", "distance", _far("HNL", "MSY")),
    Asked("SEA to ANC, how many km?", "distance", _far("SEA", "ANC")),
    Asked("what does LIT stand for", "airport_info", _about("LIT")),
    Asked("Information about the airport Kahului, please", "airport_info", _about("OGG")),
    Asked("In which city is the airport BTM?", "airport_info", _about("BTM")),
]

UNANSWERABLE = [
    Asked("What does a ticket from Boise to Seattle cost?"),
    Asked("What is the weather in Boise?"),
    Asked("Was my flight from Boise to Seattle delayed?"),
    Asked("How many flights were there from Boise to Seattle in 2020?"),
    Asked("Which airports are in France?"),
    Asked("Which airlines fly from Boise to Seattle?"),
    Asked("How many passengers flew from Atlanta to Chicago O'Hare?"),
    Asked("When does the next flight to Denver leave?"),
    Asked("How long is the runway of Boise Air Terminal?"),
    Asked("Book me a hotel in Miami"),
    Asked("How many flights go from Tokyo to Beijing?"),
    Asked("Who is the president of the United States?"),
    Asked("Is there a lounge at SFO?"),
    Asked("How long does the flight from Boise to Seattle take?"),
    Asked("Is Denver Intl open at night?"),
    Asked("Which aircraft fly from Boise to Seattle?"),
    Asked("How many flights from Boise to Seattle were cancelled?"),
    Asked("What is the elevation of Denver Intl?"),
    Asked("Who built LaGuardia?"),
    Asked("Which is the safest airport?"),
]

AMBIGUOUS = [
    Ambiguous(
        "Which airports can I reach directly from Chicago?",
        ["Chicago Midway", "Chicago O'Hare International"],
        "Chicago Midway",
        "find_direct_routes",
        _direct("MDW"),
    ),
    Ambiguous(
        "How far is it from Portland to Boise?",
        ["Portland Intl", "Portland International Jetport"],
        "PDX",
        "distance",
        _far("PDX", "BOI"),
    ),
    Ambiguous(
        "How many flights were there from Seattle to Houston?",
        ["George Bush Intercontinental", "William P Hobby"],
        "IAH",
        "flights_between",
        _between("SEA", "IAH"),
    ),
]
# There are a London and a Paris in the graph, though not those that are meant: whichever is taken, nothing is stated.
ELSEWHERE = "How many flights go from London to Paris?"
INCOMPLETE = Ambiguous("How far is it from Boise?", ["destination"], "Seattle", "distance", _far("BOI", "SEA"))

SMALL_TALK = {"thank you": "You are welcome.", "Hello": "Hello."}

HELD_OUT = [
    Asked("I live in Spokane. What places can I get to without changing planes?", "find_direct_routes", _direct("GEG")),
    Asked("Does anything fly straight from Fargo to Denver?", "find_direct_routes", _nonstop("FAR", "DEN")),
    Asked("I need to go from Juneau to Boston, where would I connect?", "find_indirect_routes", _stops("JNU", "BOS")),
    Asked("Number of planes that went from Las Vegas to Reno?", "flights_between", _between("LAS", "RNO")),
    Asked("What's the mileage between Honolulu and Los Angeles", "distance", _far("HNL", "LAX")),
    Asked("give me the latitude of LaGuardia", "airport_info", _about("LGA")),
    Asked("how many airports are there in Delaware", "airports_in", _located(state="Delaware")),
    Asked("which airport in Florida handled the most traffic", "busiest_airports", _busiest(10, "Florida")),
    Asked("What's the wifi password at Denver Intl?"),
    Asked("How many people live in Boise?"),
]
