import type { Command, Option } from 'commander'
import type { CommandProcess } from '../common/command-process.ts'

/** A shell that a script can be printed for. */
export type Shell = 'bash' | 'zsh' | 'fish'

/** `nodekeep completion` */
export function printCompletion(program: Command, shell: Shell, process: CommandProcess): void {
  process.stdout.write(`${scripts[shell](describe(program))}\n`)
}

/** A word that the user may type next. */
interface Word {
  readonly name: string
  readonly description: string
}

/** The words that may follow a command. */
interface Place {
  /** The words from the program to the command, such as ` config print`. It is empty for the program itself. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Option[]
}

/** An option with a value, and the values that it takes. */
interface ValueOption {
  readonly flags: readonly string[]
  readonly values: 'file' | 'folder' | 'unknown' | readonly string[]
}

interface Description {
  readonly places: readonly Place[]
  readonly valueOptions: readonly ValueOption[]
}

const scripts: Readonly<Record<Shell, (description: Description) => string>> = { bash, zsh, fish }

/** The command that runs when none is named. Its options may follow the name of the program. */
const defaultCommand = 'start'

function describe(program: Command): Description {
  const places = placesOf(program, '').map((place) => {
    const defaults = program.commands.find(
      (command) => place.path === '' && command.name() === defaultCommand,
    )
    return { ...place, options: unique([...place.options, ...(defaults ? optionsOf(defaults) : [])]) }
  })
  const valueOptions = unique(places.flatMap(({ options }) => options))
    .filter(({ required, optional }) => required || optional)
    .map((option) => ({ flags: flagsOf(option), values: valuesOf(option) }))
  return { places, valueOptions }
}

function placesOf(command: Command, path: string): Place[] {
  const commands = command.createHelp().visibleCommands(command)
  const choices = command.registeredArguments[0]?.argChoices ?? []
  const place = {
    path,
    commands: [
      ...commands.map((inner) => ({ name: inner.name(), description: inner.description() })),
      ...choices.map((name) => ({ name, description: '' })),
    ],
    options: optionsOf(command),
  }
  return [place, ...commands.flatMap((inner) => placesOf(inner, `${path} ${inner.name()}`))]
}

function optionsOf(command: Command): Option[] {
  return command.createHelp().visibleOptions(command)
}

function unique(options: readonly Option[]): Option[] {
  return [...new Map(options.map((option) => [option.long, option])).values()]
}

function flagsOf({ long, short }: Option): string[] {
  return [long, short].filter((flag) => flag != null)
}

function valuesOf({ argChoices, flags }: Option): ValueOption['values'] {
  if (argChoices !== undefined) return argChoices
  const kind = /<(file|folder)>$/.exec(flags)?.[1]
  return kind === 'file' || kind === 'folder' ? kind : 'unknown'
}

/** The loop that finds the command in the words before the cursor. It is the same in bash and zsh. */
function findPlace({ places }: Description): string {
  const known = places.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `    case "$place $word" in
      ${known.join('|')}) place="$place $word" ;;
    esac`
}

function bash(description: Description): string {
  const { places, valueOptions } = description
  const values = valueOptions.map(({ flags, values }) => {
    const complete = {
      file: 'compopt -o default 2>/dev/null',
      folder: 'COMPREPLY=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null',
      unknown: ':',
    }
    const action =
      typeof values === 'string'
        ? complete[values]
        : `COMPREPLY=($(compgen -W ${quote(values.join(' '))} -- "$current"))`
    return `    ${flags.join('|')}) ${action}; return ;;`
  })
  const words = places.map(({ path, commands, options }) => {
    const names = quote(commands.map(({ name }) => name).join(' '))
    const flags = quote(options.flatMap(({ long }) => long ?? []).join(' '))
    return `    ${quote(path)}) commands=${names} options=${flags} ;;`
  })
  return `# bash completion for nodekeep. Load it with: source <(nodekeep completion bash)
_nodekeep() {
  local current=\${COMP_WORDS[COMP_CWORD]} place='' commands='' options='' word
  COMPREPLY=()
  case \${COMP_WORDS[COMP_CWORD-1]} in
${values.join('\n')}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${findPlace(description)}
  done
  case $place in
${words.join('\n')}
  esac
  [[ $current == -* ]] && commands=$options
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -F _nodekeep nodekeep`
}

function zsh(description: Description): string {
  const { places, valueOptions } = description
  const complete = { file: '_files', folder: '_files -/', unknown: "_message 'value'" }
  const values = valueOptions.map(({ flags, values }) => {
    const action = typeof values === 'string' ? complete[values] : `compadd -- ${values.map(quote).join(' ')}`
    return `    ${flags.join('|')}) ${action}; return ;;`
  })
  const list = (words: readonly Word[]) =>
    `(${words.map(({ name, description }) => quote(`${name}:${description}`)).join(' ')})`
  const words = places.map(({ path, commands, options }) => {
    const flags = options.map(({ long, description }) => ({ name: long ?? '', description }))
    return `    ${quote(path)}) commands=${list(commands)} options=${list(flags)} ;;`
  })
  return `#compdef nodekeep
# zsh completion for nodekeep. Load it after compinit with: source <(nodekeep completion zsh)
_nodekeep() {
  local place='' word
  local -a commands options
  case \${words[CURRENT-1]} in
${values.join('\n')}
  esac
  for word in "\${(@)words[2,CURRENT-1]}"; do
${findPlace(description)}
  done
  case $place in
${words.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then _describe 'option' options; else _describe 'command' commands; fi
}
compdef _nodekeep nodekeep`
}

function fish({ places, valueOptions }: Description): string {
  const known = places.filter(({ path }) => path !== '').map(({ path }) => fishQuote(path))
  const valuesOfFlag = new Map(
    valueOptions.flatMap(({ flags, values }) => flags.map((flag) => [flag, values])),
  )
  const complete = { file: '-r -F', folder: "-x -a '(__fish_complete_directories)'", unknown: '-x' }
  const valuesOf = (flag: string) => {
    const values = valuesOfFlag.get(flag)
    if (values === undefined) return []
    return [typeof values === 'string' ? complete[values] : `-x -a ${fishQuote(values.join(' '))}`]
  }
  const lines = places.flatMap(({ path, commands, options }) => {
    const here = `complete -c nodekeep -n ${fishQuote(`__nodekeep_is_at '${path}'`)}`
    return [
      ...commands.map(({ name, description }) => `${here} -a ${name} -d ${fishQuote(description)}`),
      ...options.flatMap(({ long, short, description }) => {
        if (long == null) return []
        const letter = short == null ? [] : [`-s ${short.slice(1)}`]
        return [
          here,
          `-l ${long.slice(2)}`,
          ...letter,
          ...valuesOf(long),
          `-d ${fishQuote(description)}`,
        ].join(' ')
      }),
    ]
  })
  return `# fish completion for nodekeep. Load it with: nodekeep completion fish | source
function __nodekeep_is_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    switch "$place $word"
      case ${known.join(' ')}
        set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
complete -c nodekeep -f
${lines.join('\n')}`
}

/** Quotes a text for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function fishQuote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`
}
