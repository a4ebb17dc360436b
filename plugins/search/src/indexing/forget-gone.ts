import type { FileIndex, IndexedEntry } from '@nodekeep/plugin-sdk'
import type { Databases } from '../database/databases.ts'
import { learnedEntry } from './learned-entry.ts'

interface ForgetServices {
  readonly index: FileIndex
  readonly databases: Databases
}

/** Forgets entries that are gone. One that has come back meanwhile was told before, and is not told again: it is learned again. */
export async function forgetGone(
  { index, databases }: ForgetServices,
  userUuid: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await databases.call(userUuid, 'forget', ids)
  const ofUser = index.for({ uuid: userUuid })
  const back: IndexedEntry[] = []
  for (const id of ids) {
    const entry = await ofUser.entry(id)
    if (entry !== null) back.push(entry)
  }
  if (back.length > 0) await databases.call(userUuid, 'learn', back.map(learnedEntry), null, '')
}
