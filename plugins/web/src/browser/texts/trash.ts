import { counted } from '../counted.ts'

export const trash = {
  title: 'Trash',
  text: (days: number) =>
    `Deleted files stay here for ${counted(days, 'day')}, or less if you need the room.`,
  none: 'The trash is empty.',
  list: 'Deleted files and folders',
  columns: { name: 'Name', kind: 'Was in', size: 'Size', changed: 'Deleted' },
  by: 'By',
  sizeOfFolder: (entries: string, bytes: string) => `${bytes} in ${entries}`,
  newest: (entries: number) => `The newest ${counted(entries, 'entry is', 'entries are')} shown.`,
  restore: 'Restore',
  restoreTo: 'Restore to another folder',
  // The entry is a name in quotes, or a number of entries.
  restoreTitle: (entry: string) => `Restore ${entry} to`,
  restoreHere: 'Restore here',
  restoring: (name: string) => `Restore ${name}`,
  restored: (path: string) => `It is back, as ${path}`,
  restoredSeveral: (entries: string) => `${entries} are back.`,
  deleteTitle: (entry: string) => `Delete ${entry} for good?`,
  forGoodText: 'Then it cannot be restored, except from a backup that has it.',
  empty: 'Empty the trash',
  emptyTitle: (items: number, bytes: string) =>
    `Delete ${items === 1 ? '' : 'all '}${counted(items, 'item')} of the trash, ${bytes}, for good?`,
  emptied: 'The trash is empty.',
  more: 'Show more',
}
