import type { BackupEntry } from '@nodekeep/plugin-sdk'
import { keptFolder, keptPath } from '../mounts/kept-folder.ts'
import { fileEntry, folderEntry, type MountSnapshot, type SnapshotState } from './backed-up-files.ts'
import { keptListName } from './kept-list.ts'

/**
 * The kept files of all users on one backend that the backup is to have, in the order of the files of users. Their folder is there also if
 * it is empty: a restore puts it in the place of what the storage keeps.
 */
export async function* backedUpKept(
  mount: MountSnapshot,
  state: SnapshotState,
  changed: Set<string>,
): AsyncGenerator<BackupEntry, void, undefined> {
  const { name, snapshot, keptUsers } = mount
  yield folderEntry(`${name}${keptFolder}`, { modified: state.at, created: state.at })
  for (const user of keptUsers) {
    yield folderEntry(`${name}${keptPath(user.name, '')}`, user)
    const folders = ['']
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const inside: string[] = []
      for await (const entry of snapshot.list(keptPath(user.name, folder))) {
        const isItem = folder === ''
        const keptName = isItem ? entry.name : `${folder}/${entry.name}`
        const fact = isItem ? state.journal.keptFact(name, user.name, keptName) : null
        // An item that the index does not know yet comes to the trash.
        if (isItem && !(fact?.isIncluded ?? state.include.trash)) continue
        const path = keptPath(user.name, keptName)
        if (entry.type === 'directory') {
          inside.push(keptName)
          yield folderEntry(`${name}${path}`, entry)
        } else
          yield fileEntry({ mount, path, entry, created: fact?.created ?? entry.created }, state, changed)
      }
      folders.push(...inside.reverse())
    }
  }
}

/** The list of what is kept, which tells a restore the paths and times. */
export function keptListEntry({ journal, at }: SnapshotState): BackupEntry {
  return {
    path: keptListName,
    type: 'file',
    size: journal.keptBytes(),
    modified: at,
    async *open() {
      for await (const lines of journal.keptLines()) yield Buffer.from(lines)
    },
  }
}
