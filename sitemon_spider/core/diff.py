"""What changed: a site's reading against what was told, under the guards of [C3] to [C13]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from sitemon_spider.core.changes import Plan, SiteChanges
from sitemon_spider.core.columns import distinct, member
from sitemon_spider.core.filters import Pattern, mask
from sitemon_spider.core.lastmod import differs, finer, latest_order, stamp
from sitemon_spider.core.reasons import Baseline, ChangeType
from sitemon_spider.core.sides import Side, Sides, lay_out
from sitemon_spider.core.snapshot import (
    AGED_FOR,
    KEPT_GENERATIONS,
    FileEntry,
    Owed,
    Segments,
    Snapshot,
    next_entries,
)
from sitemon_spider.core.urls import identity

if TYPE_CHECKING:
    import numpy.typing as npt

    from sitemon_spider.core.columns import Keys, Rows
    from sitemon_spider.core.lastmod import Stamp
    from sitemon_spider.core.reading import SiteReading

HELD_AT_LEAST = 50
"""[C7]: fewer lost URLs are a mass loss only when they are all of a file or of the site."""

STAMPED_SHARE = 0.9
STAMPED_AT_LEAST = 20
STAMPED_WHOLE_SITE = 5
"""[C8]: what makes changes site-wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Which changes are told, and how careful the guards are (SPEC §1)."""

    change_types: frozenset[ChangeType]
    report_first_run: bool = False
    detect_lastmod_changes: bool = True
    hold_back_share: int = 50
    ignore_site_wide_stamps: bool = True
    include: Pattern | None = None
    exclude: Pattern | None = None


def diff(
    previous: Snapshot | None,
    reading: SiteReading,
    policy: Policy,
    segments: Segments,
    now: datetime,
) -> SiteChanges:
    """Compare a finished reading with the snapshot.

    Enters: the snapshot that the reading was made against (None on a first run), the reading with
    an empty frontier, and where both find their segments. Leaves: the ordered changes to tell,
    what waits, and what the next snapshot needs. Raises SnapshotError.
    """
    reading.keep_filtered()
    known = previous
    if reading.rebaseline:
        # [C14]: another view of the site, but not its first run: nothing is reported.
        known, policy = None, replace(policy, report_first_run=False)
    entries = next_entries(previous, reading, now)
    sides = None
    if known is not None or policy.report_first_run:
        sides = lay_out(known, reading, entries, segments)
    return _Comparison(previous, known, reading, entries, sides, policy, now).changes()


class _Comparison:
    """The steps of `diff`: candidates first, then each guard in turn."""

    def __init__(
        self,
        previous: Snapshot | None,
        known: Snapshot | None,
        reading: SiteReading,
        entries: dict[str, FileEntry],
        sides: Sides | None,
        policy: Policy,
        now: datetime,
    ) -> None:
        self.previous = previous
        self.known = known
        self.reading = reading
        self.entries = entries
        self.policy = policy
        self.now = now
        self.result = SiteChanges(
            reading=reading,
            previous=previous,
            known=known,
            entries=entries,
            now=now,
            reported=known.manifest.reported if known else policy.report_first_run,
            baseline=Baseline.COMPARED if known else Baseline.CREATED,
        )
        if sides is not None:
            self.sides = sides
            self.result.sides = sides

    def changes(self) -> SiteChanges:
        result = self.result
        result.complete = self._complete()
        result.removals_detected = self.known is not None and self._removals_tellable()
        if result.sides is None:
            return result
        told, read = self.sides.told, self.sides.read
        aged = self.sides.owed_keys(Owed.AGED)
        told_keys, read_keys = distinct(told.keys), distinct(read.keys)
        added = _latest(read, np.setdiff1d(read_keys, np.union1d(told_keys, aged)))
        both = np.intersect1d(told_keys, read_keys)
        lost = np.setdiff1d(told_keys, read_keys)
        changed = self._changed(both)
        again = self.sides.owed_keys(Owed.AGED, Owed.ADDED)
        result.known_keys = np.union1d(both, np.intersect1d(again, read_keys))
        result.shuffled = self._shuffled(both)
        removed = self._removed(lost)
        result.still_aged = np.setdiff1d(aged, read_keys)
        result.aged_since = self.now - AGED_FOR
        result.plan = self._plan(self._added(added), changed, removed)
        return result

    # --- completeness ---------------------------------------------------------------------------

    def _complete(self) -> bool:
        """Every file in scope was read in full, unchanged, or gone, and no limit was hit."""
        return self.reading.stop is None and all(
            self._settled(address) for address in self.reading.verdicts
        )

    def _settled(self, address: str) -> bool:
        entry = self.entries[address]
        return self.reading.verdicts[address].read_in_full or entry.gone or entry.out_of_scope

    def _removals_tellable(self) -> bool:
        """[C5]: after a complete reading, or when only files block that failed for long enough."""
        if self.reading.stop is not None:
            return False
        blocking = [a for a in self.reading.verdicts if not self._settled(a)]
        if not blocking:
            return True
        return not self._moves_between_files() and all(
            self.entries[address].failures.long(self.now) for address in blocking
        )

    def _moves_between_files(self) -> bool:
        """Whether the kept history shows a URL moving between files [C5]."""
        if self.known is None or self.known.manifest.shuffled is None:
            return False
        generation = self.known.manifest.generation
        return generation - self.known.manifest.shuffled < KEPT_GENERATIONS

    def _shuffled(self, both: Keys) -> bool:
        """Whether a URL moved between files in this run."""
        told, read = self.sides.told, self.sides.read
        t, r = told.take(_rows(told, both)), read.take(_rows(read, both))
        files = len(self.sides.addresses)
        at_told = np.searchsorted(both, t.keys) * files + t.files
        at_read = np.searchsorted(both, r.keys) * files + r.files
        stayed = np.unique(at_told[np.isin(at_told, at_read)] // max(files, 1))
        return len(stayed) < len(both)

    # --- lastmod --------------------------------------------------------------------------------

    def _changed(self, both: Keys) -> tuple[Side, Side]:
        """Told and read listings, row by row, of the URLs whose lastmod changed [C3] [C4] [C8]."""
        told, read = self._compared(both)
        if not self.policy.detect_lastmod_changes:
            return told.take(np.empty(0, np.intp)), read.take(np.empty(0, np.intp))
        told, read = self._one_url(told, read)
        keep = np.flatnonzero(self._stays(told, read))
        self.result.finer = (told.take(keep), read.take(keep))
        candidates = np.flatnonzero(differs(told.moments, read.moments))
        told, read = told.take(candidates), read.take(candidates)
        if not self.policy.ignore_site_wide_stamps or not len(read):
            return told, read
        suppressed = self._site_wide(told, read) & ~member(
            read.keys, self.sides.owed_keys(Owed.CHANGED)
        )
        self.result.lastmod_uniform = bool(suppressed.any())
        return told.take(np.flatnonzero(~suppressed)), read.take(np.flatnonzero(~suppressed))

    def _one_url(self, told: Side, read: Side) -> tuple[Side, Side]:
        """The pairs that matter, without those of two URLs whose keys collide (ARCHITECTURE §4)."""
        rows = differs(told.moments, read.moments) | finer(told.moments, read.moments)
        told, read = told.take(np.flatnonzero(rows)), read.take(np.flatnonzero(rows))
        same = self.sides.same_urls(told, read)
        self.result.collisions = int((~same).sum())
        return told.take(np.flatnonzero(same)), read.take(np.flatnonzero(same))

    def _stays(self, told: Side, read: Side) -> npt.NDArray[np.bool_]:
        """Where the finer told text goes on being compared with, in place of the read one [C4].

        Only where its listing remains the latest whichever of the URL's other listings go [C3].
        """
        stays = finer(told.moments, read.moments)
        others = self.sides.read.take(_rows(self.sides.read, read.keys))
        at = np.searchsorted(read.keys, others.keys)
        least = np.minimum(latest_order(told.moments), latest_order(read.moments))
        later = (others.files != read.files[at]) & (latest_order(others.moments) > least[at])
        stays[at[later]] = False
        return stays

    def _compared(self, both: Keys) -> tuple[Side, Side]:
        """For each URL the latest told and the latest read listing, of common files only [C3]."""
        told = self.sides.told.take(_rows(self.sides.told, both))
        read = self.sides.read.take(_rows(self.sides.read, both))
        files = max(len(self.sides.addresses), 1)
        told_at, read_at = np.searchsorted(both, told.keys), np.searchsorted(both, read.keys)
        in_both = np.isin(told_at * files + told.files, read_at * files + read.files)
        in_read = np.isin(read_at * files + read.files, told_at * files + told.files)
        common = np.zeros(len(both), bool)
        common[told_at[in_both]] = True
        told = told.take(np.flatnonzero(in_both | ~common[told_at]))
        read = read.take(np.flatnonzero(in_read | ~common[read_at]))
        return _latest(told, both), _latest(read, both)

    def _site_wide(self, told: Side, read: Side) -> npt.NDArray[np.bool_]:
        """Which changes are site-wide stamps: in a stamp of this run, or all at once [C8]."""
        suppressed = np.zeros(len(read), bool)
        ages = np.array([self._ages(address) for address in self.sides.addresses], bool)
        for change in self.sides.anew:
            if ages[change.file]:
                continue
            mine = read.files == change.file
            if not mine.any():
                continue
            if _all_at_once(change.changed, change.dated, whole_site=False):
                suppressed |= mine
            dated = change.read.moments.forms != 0
            window = stamp(change.read.moments.instants[dated], whole_site=False)
            suppressed |= mine & _inside(window, read)
        ageless = ~ages[read.files]
        dated, instants = self._site_moments(ages)
        if _all_at_once(int(ageless.sum()), dated, whole_site=True):
            suppressed |= ageless
        return suppressed | (ageless & _inside(stamp(instants, whole_site=True), read))

    def _site_moments(self, ages: npt.NDArray[np.bool_]) -> tuple[int, npt.NDArray[np.int64]]:
        """How many URLs are dated in both runs, and all moments read now; aging files left out.

        What was not read in this run is left out too: a file that fails on the day of a stamp must
        not make changes of the others [G].
        """
        rest = self.sides.unaltered(ages).moments
        now = self.sides.read
        seen = ~ages[now.files] & (now.rows < self.sides.seen[now.files])
        now = _latest(now.take(np.flatnonzero(seen)), np.unique(now.keys))
        then = self.sides.told
        then = _latest(then.take(np.flatnonzero(~ages[then.files])), np.unique(then.keys))
        dated_now, dated_then = now.keys[now.moments.forms != 0], then.keys[then.moments.forms != 0]
        both = len(np.intersect1d(dated_now, dated_then, assume_unique=True))
        dated_rest = rest.forms != 0
        instants = [rest.instants[dated_rest], now.moments.instants[now.moments.forms != 0]]
        return both + int(dated_rest.sum()), np.concatenate(instants)

    # --- added ----------------------------------------------------------------------------------

    def _added(self, added: Side) -> Side:
        """The unknown URLs that are certainly new; the others are learnt [C5] [C10]."""
        known = self.known
        if known is None or known.manifest.reported or not len(added):
            return added
        owed = member(added.keys, self.sides.owed_keys(Owed.ADDED))
        gaps = [e for e in known.files.values() if self._is_gap(e, known.manifest.at)]
        if any(not entry.limited for entry in gaps):
            certain = np.zeros(len(added), bool)
        elif gaps or self.reading.above_max_urls:
            certain = self._later(added, known.manifest.at)
        else:
            certain = ~self._only_in_fresh_files(added)
        certain |= owed
        self.result.learnt = int((~certain).sum())
        return added.take(np.flatnonzero(certain))

    def _is_gap(self, entry: FileEntry, at: datetime) -> bool:
        """A file in scope whose URLs were never known, not even as none [C5]."""
        return not (entry.full or entry.gone or entry.out_of_scope or entry.failures.long(at))

    def _later(self, added: Side, at: datetime) -> npt.NDArray[np.bool_]:
        """Whose lastmod is later than the previous run and not of a stamp [C10]."""
        microseconds = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        dated = added.moments.forms != 0
        later = np.asarray(dated & (added.moments.instants > microseconds))
        if not later.any():
            return later
        ages = np.array([self._ages(address) for address in self.sides.addresses], bool)
        later &= ~_inside(stamp(self._site_moments(ages)[1], whole_site=True), added)
        for change in self.sides.anew:
            dated = change.read.moments.forms != 0
            window = stamp(change.read.moments.instants[dated], whole_site=False)
            later &= ~((added.files == change.file) & _inside(window, added))
        return later

    def _only_in_fresh_files(self, added: Side) -> npt.NDArray[np.bool_]:
        """Which are listed only in files that were listed before but never read in full.

        Their URLs may be as old as the site: a fault or a filter that ends is no news [G] [C13].
        A file that was gone is known (it listed nothing), so what it lists now is new.
        """
        files = self.known.files if self.known else {}
        fresh = {a for a, e in files.items() if not e.full and not e.gone}
        grown = True
        while grown:
            below = {
                identity(child)
                for address in fresh
                if (verdict := self.reading.verdicts.get(address))
                for child in verdict.children
            }
            below = {address for address in below if not (e := files.get(address)) or not e.full}
            grown = not below <= fresh
            fresh |= below
        if not fresh:
            return np.zeros(len(added), bool)
        is_fresh = np.array([address in fresh for address in self.sides.addresses], bool)
        rows = _rows(self.sides.read, added.keys)
        read = self.sides.read.take(rows)
        elsewhere = np.unique(read.keys[~is_fresh[read.files]])
        return ~member(added.keys, elsewhere)

    # --- removed --------------------------------------------------------------------------------

    def _removed(self, lost: Keys) -> Side:
        """The lost URLs to tell as removed now; the others age, or wait as withheld or held."""
        told = self.sides.told.take(_rows(self.sides.told, lost))
        ages = np.array([self._ages(address) for address in self.sides.addresses], bool)
        lasting = np.unique(told.keys[~ages[told.files]])
        waiting = self.result.waiting
        waiting[Owed.AGED] = np.setdiff1d(lost, lasting)
        tellable = self._tellable(told, lasting)
        due = np.intersect1d(tellable, self.sides.owed_keys(Owed.REMOVED, Owed.HELD))
        candidates = np.setdiff1d(tellable, due)
        held = self._held(told, lasting, candidates, ages)
        # Not tellable now: a removal that was tellable once, or held, stays so [C7].
        owed = {r: self.sides.owed_keys(r) for r in (Owed.REMOVED, Owed.HELD)}
        uncertain = np.setdiff1d(lasting, tellable)
        waiting[Owed.REMOVED] = np.intersect1d(uncertain, owed[Owed.REMOVED])
        waiting[Owed.HELD] = np.union1d(held, np.intersect1d(uncertain, owed[Owed.HELD]))
        waiting[Owed.WITHHELD] = np.setdiff1d(
            uncertain, np.union1d(owed[Owed.REMOVED], owed[Owed.HELD])
        )
        return _latest(told, np.union1d(due, np.setdiff1d(candidates, held)))

    def _tellable(self, told: Side, lasting: Keys) -> Keys:
        """Which lost URLs this reading proves gone [C5]."""
        if not self.result.removals_detected:
            return lasting[:0]
        if self.result.complete:
            return lasting
        # Only files block that failed for long: URLs last seen in files that were read in full.
        unread = [not self._was_read_or_dropped(a) for a in self.sides.addresses]
        unsure = np.unique(told.keys[np.array(unread, bool)[told.files]])
        return np.setdiff1d(lasting, unsure)

    def _was_read_or_dropped(self, address: str) -> bool:
        verdict = self.reading.verdicts.get(address)
        return verdict is None or verdict.read_in_full or self.entries[address].gone

    def _held(
        self, told: Side, lasting: Keys, candidates: Keys, ages: npt.NDArray[np.bool_]
    ) -> Keys:
        """Which of the candidates are part of a mass loss, or need one more reading [C7]."""
        if not self.result.complete:
            return candidates
        share = self.policy.hold_back_share
        if not share or not len(candidates):
            return candidates[:0]
        just_gone = np.array([self._just_gone(a) for a in self.sides.addresses], bool)
        # What [C5] confirmed over three runs is not held anew.
        unconfirmed = np.unique(told.keys[~just_gone[told.files] & ~ages[told.files]])
        candidates = np.intersect1d(candidates, unconfirmed)
        rows = told.take(np.flatnonzero(~ages[told.files] & member(told.keys, lasting)))
        losses = np.bincount(rows.files, minlength=len(ages))
        heavy = _mass_loss(losses, self.sides.had, share)
        if self._site_mass_loss(len(lasting), ages, share):
            return candidates
        return np.intersect1d(candidates, np.unique(rows.keys[heavy[rows.files]]))

    def _site_mass_loss(self, lost: int, ages: npt.NDArray[np.bool_], share: int) -> bool:
        had = self.sides.had[~ages]
        most, least = int(had.sum()), int(had.max(initial=0))
        if not _mass_loss(np.array([lost]), np.array([least]), share)[0]:
            return False
        if _mass_loss(np.array([lost]), np.array([most]), share)[0]:
            return True
        told = self.sides.told
        unique = len(np.unique(told.keys[~ages[told.files]]))
        unique += len(self.sides.unaltered(ages))
        return bool(_mass_loss(np.array([lost]), np.array([unique]), share)[0])

    def _just_gone(self, address: str) -> bool:
        """Whether the file is gone by 404 or 410 in three runs, as of this run [C5]."""
        entry = self.entries.get(address)
        return entry is not None and entry.gone

    # --- the plan -------------------------------------------------------------------------------

    def _plan(self, added: Side, changed: tuple[Side, Side], removed: Side) -> Plan:
        """The ordered changes to tell: those asked for whose URL passes the page filters [C13]."""
        result, policy = self.result, self.policy
        result.added, result.changed, result.removed = len(added), len(changed[1]), len(removed)
        nothing = removed.take(np.empty(0, np.intp))
        asked = policy.change_types
        if ChangeType.ADDED not in asked:
            added = nothing
        if ChangeType.LASTMOD_CHANGED not in asked:
            changed = (nothing, nothing)
        if ChangeType.REMOVED not in asked:
            removed = nothing
        if policy.include is not None or policy.exclude is not None:
            before = len(added) + len(changed[1]) + len(removed)
            added = added.take(self._passing(added))
            rows = self._passing(changed[1])
            changed = (changed[0].take(rows), changed[1].take(rows))
            removed = removed.take(self._passing(removed))
            result.filtered = before - len(added) - len(changed[1]) - len(removed)
        return Plan.of(added, changed, removed)

    def _passing(self, side: Side) -> Rows:
        locs: Any = self.sides.text("loc", side).combine_chunks()
        return np.flatnonzero(mask(locs, self.policy.include, self.policy.exclude))

    def _ages(self, address: str) -> bool:
        """Whether a file lists recent items only, before or now: a flip ages in its run [C6]."""
        before = self.known.files.get(address) if self.known else None
        after = self.entries.get(address)
        return (before is not None and before.ages) or (after is not None and after.ages)


def _rows(side: Side, keys: Keys) -> Rows:
    return np.flatnonzero(member(side.keys, keys))


def _latest(side: Side, keys: Keys) -> Side:
    """One listing a key, in key order: the latest moment, the finer of equal ones, first file."""
    side = side.take(_rows(side, keys))
    order = np.lexsort((-side.files, latest_order(side.moments), side.keys))
    ordered = side.keys[order]
    last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]
    return side.take(order[last])


def _inside(window: Stamp | None, side: Side) -> npt.NDArray[np.bool_]:
    if window is None:
        return np.zeros(len(side), bool)
    instants = side.moments.instants
    inside = (instants >= window.start) & (instants <= window.end) & (side.moments.forms != 0)
    return np.asarray(inside)


def _all_at_once(changed: int, dated: int, *, whole_site: bool) -> bool:
    """[C8]: at least 90 % and at least 20 changed, or every one of at least 5 of a site."""
    if whole_site and changed >= STAMPED_WHOLE_SITE and changed >= dated:
        return True
    return changed >= STAMPED_AT_LEAST and changed >= STAMPED_SHARE * dated


def _mass_loss(
    lost: npt.NDArray[np.int64], had: npt.NDArray[np.int64], share: int
) -> npt.NDArray[np.bool_]:
    """[C7]: at least `share` percent and at least 50, or all of them whatever their number."""
    many = (lost >= HELD_AT_LEAST) & (lost * 100 >= share * had)
    return many | ((lost > 0) & (lost >= had))
