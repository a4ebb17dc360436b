import { glob } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { root } from '../run/command.ts'
import type { Bench } from './bench.ts'

/** Returns the file of each part, from the root of the repository. */
export async function findParts(): Promise<ReadonlyMap<string, string>> {
  const found = await Array.fromAsync(glob('test/bench/*.bench.ts', { cwd: root }))
  return new Map(found.sort().map((file) => [basename(file, '.bench.ts'), file.replaceAll('\\', '/')]))
}

/** Returns the benches of a part, in the order of their measurement. */
export async function benchesOf(file: string): Promise<readonly Bench[]> {
  return ((await import(join(root, file))) as { default: readonly Bench[] }).default
}
