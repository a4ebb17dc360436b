import { setImmediate as nextTurn } from 'node:timers/promises'

/** So many names are merged before others have their turn. */
const TURN = 16_384

/**
 * Sorts names that come in portions by their UTF-16 code units, each name once. Sorting a hundred thousand names at
 * once would hold up the event loop, so the portions are sorted one by one and merged in turns.
 */
export async function sortedNames(portions: AsyncIterable<string[]>): Promise<string[]> {
  let runs: string[][] = []
  for await (const portion of portions) runs.push(portion.sort())
  while (runs.length > 1) {
    const longer: string[][] = []
    for (let index = 0; index < runs.length; index += 2) {
      longer.push(await merge(runs[index] ?? [], runs[index + 1] ?? []))
    }
    runs = longer
  }
  return runs[0] === undefined ? [] : merge(runs[0], [])
}

async function merge(left: readonly string[], right: readonly string[]): Promise<string[]> {
  const merged: string[] = []
  let [leftIndex, rightIndex, last] = [0, 0, null as string | null]
  for (let turn = 1; leftIndex < left.length || rightIndex < right.length; turn += 1) {
    const [a, b] = [left[leftIndex], right[rightIndex]]
    const takesLeft = b === undefined || (a !== undefined && a <= b)
    const name = (takesLeft ? a : b) as string
    if (takesLeft) leftIndex += 1
    else rightIndex += 1
    if (name !== last) merged.push(name)
    last = name
    if (turn % TURN === 0) await nextTurn()
  }
  return merged
}
