import type { Command, Option } from 'commander'
import type { CommandProcess } from '../common/command-process.ts'

/** A shell that a script can be printed for. */
export type Shell = 'bash' | 'zsh' | 'fish'

/**
 * `nodekeep completion`
 *
 * @param words those that follow the name of the program, up to the cursor. The last one may be empty, or a beginning. Without any,
 *   it prints the script of the shell, which asks for the words that may be meant.
 */
export function printCompletion(
  program: Command,
  shell: Shell,
  words: readonly string[],
  process: CommandProcess,
): void {
  if (words.length === 0) process.stdout.write(scripts[shell])
  else for (const line of offersFor(program, words)) process.stdout.write(`${line}\n`)
}

/** The command that runs when none is named. Its options may follow the name of the program. */
const defaultCommand = 'start'

/** Returns lines of a word, a tab, and what the word is for. Without any, the shell offers files and folders. */
function offersFor(program: Command, words: readonly string[]): string[] {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  let command = program
  for (const word of before) command = commandsOf(command).find((one) => one.name() === word) ?? command
  const also = command === program ? program.commands.find((one) => one.name() === defaultCommand) : undefined
  const options = [command, ...(also ? [also] : [])].flatMap(optionsOf)
  const valued = options.find(
    ({ long, short, required, optional }) =>
      (required || optional) && [long, short].includes(before.at(-1) ?? ''),
  )
  const choices = valued?.argChoices ?? command.registeredArguments[0]?.argChoices ?? []
  const flags = options.map(({ long, description }) => `${long}\t${oneLine(description)}`)
  const commands = commandsOf(command).map((one) => `${one.name()}\t${oneLine(one.description())}`)
  const offers = valued !== undefined ? choices : current.startsWith('-') ? flags : [...commands, ...choices]
  return [...new Set(offers)].filter((line) => line.startsWith(current))
}

/** A plugin may describe its commands in several lines. */
function oneLine(description: string): string {
  return description.replaceAll(/\s+/g, ' ')
}

function commandsOf(command: Command): Command[] {
  return command.createHelp().visibleCommands(command)
}

function optionsOf(command: Command): Option[] {
  return command.createHelp().visibleOptions(command)
}

const scripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for nodekeep. Load it with: source <(nodekeep completion bash)
_nodekeep() {
  local IFS=$'\\n'
  COMPREPLY=($(nodekeep completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _nodekeep nodekeep
`,
  zsh: `#compdef nodekeep
# zsh completion for nodekeep. Load it after compinit with: source <(nodekeep completion zsh)
_nodekeep() {
  local -a offers
  offers=("\${(@f)$(nodekeep completion zsh -- "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  offers=("\${(@)offers/$'\\t'/:}")
  if [[ -n $offers ]]; then _describe 'nodekeep' offers; else _files; fi
}
compdef _nodekeep nodekeep
`,
  fish: `# fish completion for nodekeep. Load it with: nodekeep completion fish | source
function __nodekeep_offers
  set -l current (commandline -ct)
  set -g __nodekeep_offered (nodekeep completion fish -- (commandline -opc)[2..-1] "$current" 2>/dev/null)
  test -n "$__nodekeep_offered"
end
complete -c nodekeep -n __nodekeep_offers -f -a '(printf "%s\\n" $__nodekeep_offered)'
`,
}
