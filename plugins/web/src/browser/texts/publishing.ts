import { counted } from '../counted.ts'

export const publishing = {
  publish: 'Publish a copy',
  explanation: [
    'A copy gets an address of IPFS. Everybody who knows the address can read the copy, and keep it.',
    'A link of "Share" is different: it leads to your own files, and you can end it.',
    'The copy stays as it is now. Later changes are not published.',
    'You can withdraw it on the page "Published". Copies that others have made by then stay with them.',
  ],
  progress: 'Progress of the publication',
  added: (bytes: string) => `${bytes} are read.`,
  goesOn: 'You can close this. The node goes on, and the page "Published" tells how far it is.',
  mark: 'Published, and not changed since',
  shortMark: 'Published',
  isPublished: 'It is published at this address:',
  done: (name: string) => `"${name}" is published.`,
  qr: 'The address as a QR code',
  cid: 'CID, which proves the content:',
  all: 'All published',
  title: 'Published',
  text: 'Everybody who knows an address can read what is published there.',
  none: 'You have published nothing yet.',
  noneText: 'Select a file or folder on the page "Files", and choose "Publish a copy" under "More".',
  list: 'Published files and folders',
  sum: (bytes: string) => `Everything together takes ${bytes}.`,
  facts: (date: string, files: number, bytes: string) =>
    `Published ${date}: ${counted(files, 'file')}, ${bytes}`,
  failed: (problem: string) => `It could not be published: ${problem}`,
  remove: 'Remove from the list',
  states: {
    changed:
      'It has changed since. What was published stays as it was. To publish it as it is now, publish it again.',
    gone: 'It is not among your files any more. What was published stays.',
    missing:
      'Its content is not on this node, so the address does not work. Publish it again, or withdraw it.',
  },
  again: 'Publish again',
  withdraw: 'Withdraw',
  withdrawTitle: (name: string) => `Withdraw "${name}"?`,
  withdrawText:
    'The address stops working. Your file or folder stays. Copies that others have made stay with them.',
  withdrawn: 'Withdrawn.',
}
