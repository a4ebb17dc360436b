import type { Log } from './context.ts'
import type { NodeRestores } from './contracts/restores.ts'

/** A node that runs, as a command of a plugin reaches it. */
export interface NodeClient {
  /** The address of the node on this machine. */
  readonly url: URL
  /**
   * Like the global `fetch`, with a path of the node. It calls with a session of the owner that ends with the command.
   *
   * @throws TypeError if the node cannot be reached
   */
  fetch(path: string, init?: RequestInit): Promise<Response>
}

/** A line on the terminal that shows how far long work is. Where nobody looks at a terminal, it prints nothing. */
export interface ProgressLine {
  /** @param fraction from 0 to 1 */
  update(fraction: number, text?: string): void
  /** Removes the line. */
  end(): void
}

/**
 * The output of a command. Every command of a plugin has the option `--json`. Call one of `table` and `state`, once: with
 * `--json`, each call prints a JSON value of its own.
 */
export interface CommandOutput {
  /** Prints lines for people, with `--json` on the error stream. Control characters are escaped. */
  lines(...lines: readonly string[]): void
  /**
   * Prints rows: as a table for people, as a JSON array with `--json`.
   *
   * @param rows objects with the same keys, which are the headings
   * @param empty the line for people if there are no rows
   */
  table(rows: readonly Readonly<Record<string, unknown>>[], empty: string): void
  /** Prints a state: as lines of names and values for people, as a JSON object with `--json`. */
  state(state: Readonly<Record<string, unknown>>): void
  progress(label: string): ProgressLine
}

/** The argument of a command. */
export interface CommandContext<Config = unknown> {
  /** The id under which the configuration loads the plugin. */
  readonly id: string
  /** The plugin's section of the configuration, validated and with defaults. */
  readonly config: Config
  /** The plugin's own folder. It may not exist yet. */
  readonly dataDir: string
  /** The data folder of the whole node. */
  readonly nodeDataDir: string
  /** The arguments of the command, in their order. */
  readonly args: readonly string[]
  /** The options by their long names in camel case: a text, or `true` for an option without a value. */
  readonly options: Readonly<Record<string, string | true | undefined>>
  readonly output: CommandOutput
  readonly log: Log
  /** Aborted by Ctrl+C and SIGTERM. */
  readonly signal: AbortSignal
  /** Asks the person a question that is answered by yes or no. Without a terminal, the answer is no. */
  confirm(question: string): Promise<boolean>
  /** Asks the person for a secret, which is not shown. Without a terminal, the answer is `null`. */
  ask(question: string): Promise<string | null>
  /** Returns the node that runs on the data folder; `null` if none does. */
  node(): Promise<NodeClient | null>
  /**
   * Makes this process the only one on the data folder until the command ends, as a node is while it runs.
   *
   * @throws Error that names the node that runs
   */
  exclusive(): Promise<void>
  /** Plans a restore for the next start of the node. `plan` and `cancel` throw if `exclusive` was not called before. */
  readonly restores: NodeRestores
}

/** A command: an error that it throws is printed as one line, and the exit code is 1. */
export type CommandRun = (context: CommandContext<never>) => Promise<void>

const brand: unique symbol = Symbol.for('nodekeep.commands@1')

/** The commands of a plugin as the kernel takes them. */
export interface Commands {
  readonly [brand]: true
  readonly runs: Readonly<Record<string, CommandRun>>
}

/**
 * Defines what the commands of a plugin do. The module that the manifest names in `nodekeep.commands.entry` exports it as its
 * default export. Names, descriptions and options stand in the manifest, so that `nodekeep --help` shows them without
 * importing the plugin.
 *
 * @example
 * // package.json: "nodekeep": { …, "commands": { "entry": "./commands.js",
 * //   "list": { "count": { "description": "count the notes", "options": { "--since <date>": "only later ones" } } } } }
 * export default defineCommands({
 *   async count(context) {
 *     const node = await runningNode(context)
 *     const notes = await answerOf<Note[]>(node.fetch(`/api/notes?since=${context.options.since ?? ''}`))
 *     context.output.state({ notes: notes.length })
 *   },
 * })
 */
export function defineCommands<Config = unknown>(
  runs: Readonly<Record<string, (context: CommandContext<Config>) => Promise<void>>>,
): Commands {
  return Object.freeze({ [brand]: true as const, runs: runs as Readonly<Record<string, CommandRun>> })
}

/** Tells whether a value was created by `defineCommands`, of this copy of the SDK or of another one. */
export function isCommands(value: unknown): value is Commands {
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
}

/**
 * Returns the node that runs on the data folder of a command.
 *
 * @param remedy what to do if none does, in one sentence
 * @throws Error with the remedy if none does
 */
export async function runningNode(
  context: Pick<CommandContext, 'node'>,
  remedy = 'Start it with `nodekeep start`, then try again.',
): Promise<NodeClient> {
  const node = await context.node()
  if (node === null) throw new Error(`No node runs on this data folder. ${remedy}`)
  return node
}

/**
 * Returns the JSON of an answer of the node to a command.
 *
 * @throws Error with the node's message
 * @example const { version } = await answerOf<NodeAnswers['GET /api/update/version']>(node.fetch('/api/update/version'))
 */
export async function answerOf<T>(answer: Promise<Response>): Promise<T> {
  const response = await answer
  const body = (await response.json()) as T & { readonly message?: string }
  if (!response.ok) throw new Error(body.message)
  return body
}

/**
 * Like {@link answerOf}, for work that may take longer than the 5 minutes for which Node's `fetch` waits for an answer.
 *
 * @returns `null` if no answer has come by then. The node may still be working.
 */
export async function answerInTime<T>(answer: Promise<Response>): Promise<T | null> {
  try {
    return await answerOf<T>(answer)
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } }
    if (cause?.code === 'UND_ERR_HEADERS_TIMEOUT') return null
    throw error
  }
}
