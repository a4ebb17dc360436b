/** Entries that people cannot tell from each other, such as the sessions of one browser. */
export interface Group<T> {
  readonly name: string
  /** The entry that was used last. */
  readonly newest: T
  readonly older: readonly T[]
}

/** Puts entries of one name together, those that were used last first. */
export function groupsOf<T>(
  entries: readonly T[],
  nameOf: (entry: T) => string,
  lastUse: (entry: T) => string,
): Group<T>[] {
  const sorted = entries.toSorted((one, other) => lastUse(other).localeCompare(lastUse(one)))
  return [...Map.groupBy(sorted, nameOf)].map(([name, [newest, ...older]]) => ({
    name,
    newest: newest as T,
    older,
  }))
}
