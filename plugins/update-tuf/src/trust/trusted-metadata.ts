import { createHash } from 'node:crypto'
import { copyFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The metadata that the node has verified, in `metadata` of the plugin's folder. A client of TUF must not forget it: it tells which
 * states are older than those that the node has seen. `tuf-js` writes files in place, so it gets a copy, and its results take the
 * places of the former files by renames. Each file is signed by itself, so a mixture after a crash is no harm.
 */
export class TrustedMetadata {
  readonly #folder: string
  readonly #copy: string
  /** The hashes of all roots that led to `root.json` in the folder, that one included. */
  readonly #knownFile: string

  /** @param folder the plugin's own folder */
  constructor(folder: string) {
    this.#folder = join(folder, 'metadata')
    this.#copy = join(folder, 'metadata.new')
    this.#knownFile = join(folder, 'known-roots.json')
  }

  /**
   * Calls `use` with a folder in which `tuf-js` may read and write. What it has verified is kept, also if `use` fails later on.
   *
   * @param pinned the root metadata that comes with the release. It takes the place of the trusted root, unless it led to that one: a
   *   release that was built earlier, as after a way back, must not bring back keys that were replaced.
   * @param use returns the result
   * @param fetchedRoots the root metadata that `use` has fetched, in order
   */
  async update<T>(
    pinned: Buffer,
    use: (folder: string) => Promise<T>,
    fetchedRoots: readonly Buffer[],
  ): Promise<T> {
    await rm(this.#copy, { recursive: true, force: true })
    await mkdir(this.#copy, { recursive: true, mode: 0o700 })
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#folder))
      await copyFile(join(this.#folder, name), join(this.#copy, name))
    let known = await this.#knownRoots()
    if (!known.includes(hashOf(pinned))) {
      known = [hashOf(pinned)]
      await writeFile(join(this.#copy, 'root.json'), pinned)
      // The root is kept first, so the order is right after a crash.
      await this.#keep()
      await this.#know(known)
    }
    try {
      return await use(this.#copy)
    } finally {
      await this.#keep()
      // Each root was verified before the next one was fetched. The last one that is kept was verified too.
      const root = await readFile(join(this.#copy, 'root.json'))
      const verified = fetchedRoots.slice(
        0,
        fetchedRoots.findLastIndex((fetched) => fetched.equals(root)) + 1,
      )
      if (verified.length > 0) await this.#know([...known, ...verified.map(hashOf)])
      await rm(this.#copy, { recursive: true, force: true })
    }
  }

  /** Without a trusted root, none is known: a damaged disk must not end updates for good. */
  async #knownRoots(): Promise<string[]> {
    const [known, root] = await Promise.all([
      readIfPresent(this.#knownFile),
      readIfPresent(join(this.#folder, 'root.json')),
    ])
    const hashes = parsed(known)
    return Array.isArray(hashes) && parsed(root) !== null ? hashes : []
  }

  async #know(hashes: readonly string[]): Promise<void> {
    await writeDurably(this.#knownFile, Buffer.from(JSON.stringify(hashes)))
  }

  async #keep(): Promise<void> {
    for (const name of await readdir(this.#copy)) {
      const content = await readFile(join(this.#copy, name))
      // On a full disk, `tuf-js` leaves a part of a file.
      if (parsed(content) === null) continue
      const former = await readIfPresent(join(this.#folder, name))
      if (former === null || !former.equals(content)) await writeDurably(join(this.#folder, name), content)
    }
  }
}

async function readIfPresent(file: string): Promise<Buffer | null> {
  return readFile(file).catch(() => null)
}

/** Returns `null` for a file that is missing or damaged. */
function parsed(content: Buffer | null): unknown {
  try {
    return content === null ? null : JSON.parse(content.toString())
  } catch {
    return null
  }
}

function hashOf(root: Buffer): string {
  return createHash('sha256').update(root).digest('hex')
}

async function writeDurably(file: string, content: Buffer): Promise<void> {
  const next = `${file}.tmp`
  const handle = await open(next, 'w', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(next, file)
}
