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
  /** The pinned root that `root.json` in the folder descends from. */
  readonly #pinnedFile: string

  /** @param folder the plugin's own folder */
  constructor(folder: string) {
    this.#folder = join(folder, 'metadata')
    this.#copy = join(folder, 'metadata.new')
    this.#pinnedFile = join(folder, 'pinned-root.json')
  }

  /**
   * Calls `use` with a folder in which `tuf-js` may read and write. What it has verified is kept, also if `use` fails later on.
   *
   * @param pinned the root metadata that comes with the release. Another one than before takes the place of the trusted root.
   */
  async update<T>(pinned: Buffer, use: (folder: string) => Promise<T>): Promise<T> {
    await rm(this.#copy, { recursive: true, force: true })
    await mkdir(this.#copy, { recursive: true, mode: 0o700 })
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#folder))
      await copyFile(join(this.#folder, name), join(this.#copy, name))
    if (!(await this.#descendsFrom(pinned))) {
      await writeFile(join(this.#copy, 'root.json'), pinned)
      // The root that descends from it is kept first, so the order is right after a crash.
      await this.#keep()
      await writeDurably(this.#pinnedFile, pinned)
    }
    try {
      return await use(this.#copy)
    } finally {
      await this.#keep()
      await rm(this.#copy, { recursive: true, force: true })
    }
  }

  async #descendsFrom(pinned: Buffer): Promise<boolean> {
    const [known, root] = await Promise.all([
      readIfPresent(this.#pinnedFile),
      readIfPresent(join(this.#folder, 'root.json')),
    ])
    return known !== null && root !== null && known.equals(pinned) && isJson(root)
  }

  async #keep(): Promise<void> {
    for (const name of await readdir(this.#copy)) {
      const content = await readFile(join(this.#copy, name))
      const former = await readIfPresent(join(this.#folder, name))
      if (former === null || !former.equals(content)) await writeDurably(join(this.#folder, name), content)
    }
  }
}

async function readIfPresent(file: string): Promise<Buffer | null> {
  return readFile(file).catch(() => null)
}

/** A damaged disk must not end updates for good: then the pinned root is trusted again. */
function isJson(content: Buffer): boolean {
  try {
    return JSON.parse(content.toString()) !== null
  } catch {
    return false
  }
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
