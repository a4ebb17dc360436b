import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { BlockIndex } from './block-index.ts'
import { packName, packNumber } from './pack-format.ts'

/** A pack of the index whose file is missing or has lost bytes. */
interface LostPack {
  readonly file: string
  /** Bytes that the pack must have. */
  readonly length: number
  /** Bytes that its file has; null if there is no file. */
  readonly found: number | null
}

/** Returns the numbers of the packs of a folder, in their order. */
export function packsIn(folder: string): number[] {
  const numbers = readdirSync(folder).map(packNumber)
  return numbers.filter((number) => number !== null).sort((one, other) => one - other)
}

/**
 * Removes what a crash may have left in the folder: packs that the index does not name, and bytes behind their recorded lengths.
 *
 * @returns the packs that have lost bytes
 */
export function cleanPacks(folder: string, blocks: BlockIndex): LostPack[] {
  const packs = blocks.packs()
  const named = new Set(packs.map(({ number }) => number))
  for (const number of packsIn(folder)) if (!named.has(number)) rmSync(join(folder, packName(number)))
  return packs.flatMap(({ number, length }) => {
    const file = join(folder, packName(number))
    const found = statSync(file, { throwIfNoEntry: false })?.size ?? null
    if (found !== null && found > length) truncateSync(file, length)
    return found === null || found < length ? [{ file, length, found }] : []
  })
}
