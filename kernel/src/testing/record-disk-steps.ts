import fs, { readlinkSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Records the syncs and renames of this process, for tests of files that survive a power cut: `sync <path>` when the sync has ended,
 * `rename <path>` with the new path. It sees those of `node:fs/promises`, on Linux.
 *
 * @example
 * using steps = await recordDiskSteps()
 * await store(file)
 * t.strictSame(steps.list, [`sync ${file}.new`, `rename ${file}`, `sync ${folder}`])
 */
export async function recordDiskSteps(): Promise<Disposable & { readonly list: readonly string[] }> {
  const list: string[] = []
  await using handle = await open('/dev/null')
  const prototype: FileHandle = Object.getPrototypeOf(handle)
  const { sync } = prototype
  const { rename } = fs.promises
  prototype.sync = async function (this: FileHandle) {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`)
    await sync.call(this)
    list.push(`sync ${path}`)
  }
  fs.promises.rename = async (from, to) => {
    await rename(from, to)
    list.push(`rename ${to}`)
  }
  syncBuiltinESMExports()
  return {
    list,
    [Symbol.dispose]: () => {
      prototype.sync = sync
      fs.promises.rename = rename
      syncBuiltinESMExports()
    },
  }
}
