import { counted } from '../counted.ts'

export const search = {
  title: 'Results',
  kind: 'Kind',
  all: 'All kinds',
  kinds: {
    picture: 'Pictures',
    audio: 'Sound',
    video: 'Videos',
    document: 'Documents',
    text: 'Texts',
    archive: 'Archives',
    folder: 'Folders',
  },
  onlyHere: 'Only this folder',
  close: 'Close the search',
  found: (entries: number, hasMore: boolean) =>
    hasMore ? `The first ${entries.toLocaleString()} are shown.` : counted(entries, 'result'),
  nothing: 'Nothing was found.',
  unread: (files: number) =>
    files === 0
      ? 'The node still looks for files that it has not read. Some contents may be missing here.'
      : `The node has not read the contents of ${counted(files, 'file')} yet. They may be missing here.`,
  folder: 'In',
  isFolder: 'Folder',
  isChat: 'Conversation',
  more: 'Show more',
}
