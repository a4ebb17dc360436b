export const editor = {
  edit: 'Edit',
  plain: 'As plain text',
  preview: 'Preview',
  textOf: (name: string) => `Text of ${name}`,
  save: 'Save',
  saved: 'Saved.',
  unsaved: 'Not saved yet.',
  restored: 'This is what you typed before. It is not saved yet.',
  finish: 'Finish',
  tooLong: (bytes: string) => `Texts of up to ${bytes} can be edited here.`,
  notUtf8: 'This text is not in UTF-8, so it cannot be edited here.',
  conflict: (name: string, copy: string) =>
    name === copy
      ? `"${name}" was deleted meanwhile. Your text is stored again.`
      : `"${name}" was changed by somebody else meanwhile. Your text is stored as "${copy}", so both are kept.`,
  leaveTitle: (name: string) => `Save "${name}"?`,
  leaveText: 'You changed this text, and it is not saved.',
  discard: 'Do not save',
  goOn: 'Keep editing',
}
