import { useRef } from 'preact/hooks'
import type { Selection } from './selection.ts'

interface ListKeysOptions<T> {
  readonly entries: readonly T[]
  readonly selection: Selection<T>
  readonly nameOf: (entry: T) => string
  /** The number of entries of a row. */
  readonly inRow: number
  /** The number of whole rows that can be seen. */
  readonly page: () => number
}

/** Milliseconds between two letters of a name that is searched by typing. */
const typingMs = 700

/**
 * The keys that select in a list, as in file managers: the arrows, Home, End, Page Up and Page Down, with Shift and Ctrl; Space, Ctrl+A,
 * Escape; and letters, which lead to a name.
 *
 * @returns a function that takes a key without Alt, and tells whether it is one of these
 */
export function useListKeys<T>(options: ListKeysOptions<T>): (event: KeyboardEvent) => boolean {
  const typed = useRef({ text: '', at: 0 })
  const { entries, selection, nameOf, inRow, page } = options
  /** Goes to the first entry whose name begins with the letters that were typed one after the other. */
  const search = (letter: string, now: number) => {
    const text = now - typed.current.at < typingMs ? typed.current.text + letter : letter
    typed.current = { text, at: now }
    const found = entries.findIndex((entry) => nameOf(entry).toLowerCase().startsWith(text.toLowerCase()))
    if (found >= 0) selection.only(found)
  }
  return ({ key, shiftKey, ctrlKey, metaKey, timeStamp }) => {
    if (entries.length === 0) return false
    const command = ctrlKey || metaKey
    const { value: active } = selection.active
    const step = stepOf(key, { active, inRow, page: page() * inRow, last: entries.length - 1 })
    // The first key selects the first entry.
    const isFirst =
      selection.entries.value.length === 0 && active === 0 && !command && !shiftKey && step === inRow
    const target = isFirst ? 0 : step
    if (target !== undefined && command) selection.goTo(target)
    else if (target !== undefined && shiftKey) selection.upTo(target)
    else if (target !== undefined) selection.only(target)
    else if (key === ' ') selection.toggle(active)
    else if (key === 'Escape') selection.none()
    else if (key === 'a' && command) selection.all()
    // No name has a slash: it leads to the search. A question mark shows the keys.
    else if (key.length === 1 && !'/?'.includes(key) && !command) search(key, timeStamp)
    else return false
    return true
  }
}

interface KeyPlace {
  readonly active: number
  readonly inRow: number
  /** The entries of the rows that can be seen. */
  readonly page: number
  readonly last: number
}

/** Returns the entry that a key leads to, or `undefined`. */
function stepOf(key: string, { active, inRow, page, last }: KeyPlace): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    // From the row above the last one, the last entry is below.
    ArrowDown:
      Math.floor(active / inRow) < Math.floor(last / inRow) ? Math.min(active + inRow, last) : active,
    ArrowUp: active >= inRow ? active - inRow : active,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: last,
    ...(inRow > 1 && { ArrowLeft: active - 1, ArrowRight: active + 1 }),
  }
  return steps[key]
}
