import { shellWord } from './shell-word.ts'

/** The command as its person runs it. The file of a node is not where a shell looks for commands. */
export function commandName(): string {
  const [, program = ''] = process.argv
  return program.endsWith('.cjs') ? `node ${shellWord(program)}` : 'nodekeep-sync'
}
