import { createHash } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, replaceFile, writeJson } from '@nodekeep/plugin-sdk/durable-files'
import { compareRoots } from './root-lineage.ts'

/**
 * The metadata that the node has verified, in `metadata` of the plugin's folder. A client of TUF must not forget it: it shows which
 * states are older than the newest one that the node has seen. `tuf-js` writes files in place, so it gets a copy, and its results take the
 * places of the former files by renames. Each file is signed by itself, so a mixture after a crash is no harm.
 *
 * Each release brings a root, and the trusted root only goes up in its lineage, whichever release runs: after a way back, an earlier
 * release must not bring back keys that were replaced. A root of another lineage, as for another repository, replaces the trust.
 * A root is of the same lineage if it led to the trusted one, if the keys of one have signed the other (`root-lineage.ts`), or if it was
 * found so before. If all root keys were replaced between two releases, and the node has read none of the roots between theirs, these
 * count as two lineages: nothing that the node has connects them.
 */
export class TrustedMetadata {
  readonly #folder: string
  readonly #copy: string
  /** The hashes of the roots that are known to be of the lineage of `root.json` in the folder, and not newer; that one included. */
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
   * @param pinned the root metadata that comes with the release
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
    await makeFolder(this.#folder)
    for (const name of await readdir(this.#folder))
      await copyFile(join(this.#folder, name), join(this.#copy, name))
    const known = await this.#withPinned(pinned, await this.#knownRoots())
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

  /**
   * Trusts the root of the release, unless it is of the lineage of the trusted root and not newer.
   *
   * @returns the roots that are known from now on
   */
  async #withPinned(pinned: Buffer, known: readonly string[]): Promise<readonly string[]> {
    if (known.includes(hashOf(pinned))) return known
    const trusted = await readIfPresent(join(this.#copy, 'root.json'))
    const relation = trusted === null ? 'other' : await compareRoots(pinned, trusted)
    if (relation !== 'same') {
      await writeFile(join(this.#copy, 'root.json'), pinned)
      // The root is kept first, so the order is right after a crash.
      await this.#keep()
    }
    const now = [...(relation === 'other' ? [] : known), hashOf(pinned)]
    await this.#know(now)
    return now
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
    await writeJson(this.#knownFile, hashes)
  }

  async #keep(): Promise<void> {
    for (const name of await readdir(this.#copy)) {
      const content = await readFile(join(this.#copy, name))
      // On a full disk, `tuf-js` leaves a part of a file.
      if (parsed(content) === null) continue
      const former = await readIfPresent(join(this.#folder, name))
      if (former === null || !former.equals(content)) await replaceFile(join(this.#folder, name), content)
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
