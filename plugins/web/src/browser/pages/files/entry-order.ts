import { extensionOf } from '@nodekeep/plugin-sdk/file-kinds'
import { kindOf } from './entry-kind.ts'
import type { Entry } from './listing.ts'

/** The columns that entries can be sorted by. */
export const columns = ['name', 'kind', 'size', 'changed'] as const
export type Column = (typeof columns)[number]

/** The order of the entries of a folder. */
export interface Order {
  readonly by: Column
  readonly isDescending: boolean
}

export const byName: Order = { by: 'name', isDescending: false }

const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** Returns entries in an order: folders first, and those that are equal by their names. The size of a folder is not known. */
export function sorted(entries: readonly Entry[], { by, isDescending }: Order): readonly Entry[] {
  const sign = isDescending ? -1 : 1
  const compare = comparisons[by]
  return [...entries].sort((a, b) => {
    if (a.type !== b.type) return a.type === 'directory' ? -1 : 1
    return sign * compare(a, b) || names.compare(a.name, b.name)
  })
}

/** The order after a press on the heading of a column: first the way in which people look for something, then the other way. */
export function orderAfter({ by, isDescending }: Order, column: Column): Order {
  const isFirstDescending = column === 'size' || column === 'changed'
  return { by: column, isDescending: by === column ? !isDescending : isFirstDescending }
}

type Comparison = (a: Entry, b: Entry) => number

const comparisons: Readonly<Record<Column, Comparison>> = {
  name: (a, b) => names.compare(a.name, b.name),
  kind: (a, b) =>
    names.compare(kindOf(a), kindOf(b)) || names.compare(extensionOf(a.name), extensionOf(b.name)),
  size: ({ size: a = 0 }, { size: b = 0 }) => a - b,
  // Times of the node are ISO 8601 in UTC, so their texts are in the order of the times.
  changed: ({ modified: a }, { modified: b }) => Number(a > b) - Number(a < b),
}
