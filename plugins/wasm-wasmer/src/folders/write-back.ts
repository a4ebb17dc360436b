import type { WasmPreopen } from '@nodekeep/plugin-sdk'
import type { Revisions } from './copy-in.ts'

/** What a program stored: a file's content, or null for a folder. */
export interface StoredEntry {
  readonly path: string
  readonly content: Buffer | null
}

/** Who made the change, for the journal. */
const by = 'wasm'

/**
 * Makes a program's changes in the user's files. What somebody else changed meanwhile stays as it is: that ends it with
 * an error, and what was done before stays done.
 *
 * @throws NodekeepError PRECONDITION_FAILED for a file that was changed meanwhile, and whatever the files answer
 */
export async function writeBack(
  { files, path: folder }: WasmPreopen,
  removed: readonly string[],
  stored: readonly StoredEntry[],
  revisions: Revisions,
): Promise<void> {
  const at = (path: string) => (folder === '/' ? `/${path}` : `${folder}/${path}`)
  for (const path of removed) {
    const ifRevision = revisions.get(path)
    await files.remove(at(path), { by, ...(ifRevision !== undefined && { ifRevision }) })
  }
  for (const { path, content } of stored) {
    const ifRevision = removed.includes(path) ? undefined : revisions.get(path)
    if (content === null) await files.makeDirectory(at(path), { by })
    else {
      const condition = ifRevision === undefined ? { ifAbsent: true } : { ifRevision }
      await files.write(at(path), once(content), { by, size: content.length, ...condition })
    }
  }
}

async function* once(content: Buffer): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content
}
