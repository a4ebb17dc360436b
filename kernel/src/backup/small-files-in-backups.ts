import { readFileSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { BackupEntry, BackupOmission, BackupParticipant } from '@nodekeep/plugin-sdk'
import { messageOf } from '../errors/thrown.ts'

/** A file, and its place in the folder of the participant, `/`-separated. */
export interface PlacedFile {
  readonly file: string
  readonly path: string
}

/**
 * A participant that consists of a few files of some kilobytes, which are read at the moment.
 *
 * @param find returns the files that there are
 */
export function smallFilesInBackups(find: () => readonly PlacedFile[]): BackupParticipant {
  return {
    async prepare() {
      return {
        async take(atMoment) {
          const entries: BackupEntry[] = []
          const omitted: BackupOmission[] = []
          for (const { file, path } of find()) {
            try {
              entries.push(wholeEntry(file, path))
            } catch (error) {
              omitted.push({ what: path, why: `The file cannot be read: ${messageOf(error)}` })
            }
          }
          await atMoment()
          return {
            async *entries() {
              yield* entries
            },
            omitted,
            changed: [],
            async release() {},
          }
        },
        async release() {},
      }
    },
  }
}

function wholeEntry(file: string, path: string): BackupEntry {
  const { mtime } = statSync(file)
  const bytes = readFileSync(file)
  return { path, type: 'file', size: bytes.length, modified: mtime, open: () => Readable.from([bytes]) }
}
