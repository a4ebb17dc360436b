import type { MenuItem } from '../../menu.ts'
import * as texts from '../../texts.ts'
import type { EntryActions } from './entry-actions.ts'
import type { Folder } from './folder.ts'
import type { Entry } from './listing.ts'
import type { EntryMarks } from './marked-entries.ts'
import { hasCamera } from './taken-photo.ts'

type Items = readonly (MenuItem | null)[]

/** The actions on entries, none without any. Several are those that are selected. */
export function entryItems(entries: readonly Entry[], actions: EntryActions, marks: EntryMarks): Items {
  const [first] = entries
  if (first === undefined) return []
  const isOne = entries.length === 1
  const isFile = isOne && first.type === 'file'
  const items: readonly (MenuItem | null | false)[] = [
    isOne && {
      label: texts.files.open,
      icon: isFile ? 'eye' : 'folder-open',
      keys: 'Enter',
      run: () => actions.open(first),
    },
    { label: texts.files.download, icon: 'download', run: () => void actions.download(entries) },
    marks.linked.isOffered.value &&
      isOne && { label: texts.links.share, icon: 'share-2', run: () => void actions.share(first) },
    null,
    isOne && { label: texts.files.rename, icon: 'pencil', keys: 'F2', run: () => void actions.rename(first) },
    { label: texts.files.move, icon: 'folder-input', run: () => void actions.move(entries) },
    { label: texts.files.copy, icon: 'copy', run: () => void actions.copy(entries) },
    isFile && { label: texts.versions.title, icon: 'history', run: () => actions.showVersions(first) },
    {
      label: texts.details.title,
      icon: 'info',
      run: () => (isOne ? actions.showDetailsOf(first) : actions.showDetails()),
    },
    marks.published.isOffered.value &&
      isOne && { label: texts.publishing.publish, icon: 'globe', run: () => void actions.publish(first) },
    null,
    {
      label: texts.files.delete,
      icon: 'trash-2',
      keys: 'Del',
      isDanger: !actions.hasTrash,
      run: () => void actions.delete(entries),
    },
  ]
  return items.filter((item) => item !== false)
}

/** The actions on the folder that is shown. */
export function folderItems(folder: Folder, actions: EntryActions): Items {
  const count = folder.entries.value?.length ?? 0
  return [
    ...newItems(actions),
    null,
    {
      label: texts.files.selectAll,
      icon: 'check',
      keys: 'Ctrl+A',
      ...(count === 0 && { refused: texts.files.emptyTitle }),
      run: () => folder.selection.all(),
    },
    { label: texts.details.title, icon: 'info', run: () => actions.showDetails() },
    { label: texts.keys.title, icon: 'keyboard', keys: '?', run: () => actions.showKeys() },
  ]
}

/** Everything that makes something new in the folder that is shown. */
export function newItems(actions: EntryActions): Items {
  return [
    { label: texts.files.newFolder, icon: 'folder-plus', run: () => void actions.makeFolder() },
    { label: texts.files.newText, icon: 'square-pen', run: () => void actions.makeText() },
    null,
    { label: texts.files.uploadFiles, icon: 'upload', run: () => actions.choose('files') },
    { label: texts.files.uploadFolder, icon: 'folder-up', run: () => actions.choose('folder') },
    ...(hasCamera()
      ? [{ label: texts.files.takePhoto, icon: 'camera', run: () => actions.choose('photo') } as const]
      : []),
  ]
}
