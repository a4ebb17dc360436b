/** A text as one word of a command in a POSIX shell (POSIX.1-2024, Shell Command Language, section 2.2.2). */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
