import { Argument, Command } from 'commander'
import type { Shell } from '../actions/completion.ts'
import type { CommandProcess } from '../common/command-process.ts'

/** `nodekeep completion` */
export function completionCommand(process: CommandProcess): Command {
  const command = new Command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .argument('[words...]', 'print the words that may come next, instead of the script')
  return command.action(async (shell: Shell, words: string[]) => {
    const { printCompletion } = await import('../actions/completion.ts')
    if (command.parent !== null) printCompletion(command.parent, shell, words, process)
  })
}
