import { readFileSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { BackupEntry, BackupOmission, BackupParticipant } from '@nodekeep/plugin-sdk'
import { messageOf } from '../errors/error-text.ts'

/** A file, and its place in the folder of the participant, `/`-separated. */
export interface PlacedFile {
  readonly file: string
  readonly path: string
}

/** A file that was read, or why it could not be read. */
interface ReadFile {
  /** Tells the state of the file from an earlier one. */
  readonly version: string
  readonly entry: BackupEntry | BackupOmission
}

/**
 * A participant that consists of a few files of some kilobytes. They are read before, and again while all parts of the node
 * stand still if they have changed.
 *
 * @param find returns the files that there are
 */
export function smallFilesInBackups(find: () => readonly PlacedFile[]): BackupParticipant {
  return {
    async prepare() {
      const known = new Map(find().map((placed) => [placed.path, readPlaced(placed)]))
      return {
        halt: async () => ({
          async fix() {
            const taken = find().map((placed) => {
              const before = known.get(placed.path)
              return before?.version === versionOf(placed) ? before.entry : readPlaced(placed).entry
            })
            return {
              async *entries() {
                for (const one of taken) if ('open' in one) yield one
              },
              omitted: async () => taken.filter((one) => 'why' in one),
              changed: [],
              async release() {},
            }
          },
          async [Symbol.asyncDispose]() {},
        }),
        async release() {},
      }
    },
  }
}

function readPlaced(placed: PlacedFile): ReadFile {
  const version = versionOf(placed)
  const { file, path } = placed
  try {
    return { version, entry: wholeEntry(file, path) }
  } catch (error) {
    return { version, entry: { what: path, why: `The file cannot be read: ${messageOf(error)}` } }
  }
}

/** Empty for a file that cannot be found. */
function versionOf({ file }: PlacedFile): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
    return [file, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch {
    return ''
  }
}

function wholeEntry(file: string, path: string): BackupEntry {
  const { mtime } = statSync(file)
  const bytes = readFileSync(file)
  return { path, type: 'file', size: bytes.length, modified: mtime, open: () => Readable.from([bytes]) }
}
