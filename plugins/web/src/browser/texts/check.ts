import { counted } from '../counted.ts'

export const check = {
  title: 'Is it all here?',
  explained:
    'Choose a folder of this device, or a memory card. The node says which of its files are stored, by their contents. Nothing is uploaded by this.',
  dropHere: 'Drop files and folders here to compare them',
  chooseFolder: 'Choose a folder',
  chooseFiles: 'Choose files',
  progress: (files: number, allFiles: number, bytes: string, allBytes: string) =>
    `${files.toLocaleString()} of ${counted(allFiles, 'file')}, ${bytes} of ${allBytes}`,
  pause: 'Pause',
  resume: 'Go on',
  again: 'Check others',
  missing: 'Files that are not stored',
  more: (files: number) => `and ${files.toLocaleString()} more`,
  upload: 'Upload what is missing',
  uploadTo: 'Upload what is missing to',
  uploadHere: 'Upload here',
}
