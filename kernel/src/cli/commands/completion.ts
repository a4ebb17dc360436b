import { Argument, Command } from 'commander'
import type { Shell } from '../actions/completion.ts'
import type { CommandProcess } from '../common/command-process.ts'

/** `nodekeep completion` */
export function completionCommand(process: CommandProcess): Command {
  const command = new Command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
  return command.action(async (shell: Shell) => {
    const { printCompletion } = await import('../actions/completion.ts')
    if (command.parent !== null) printCompletion(command.parent, shell, process)
  })
}
