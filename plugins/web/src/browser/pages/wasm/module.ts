import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { accepted, refusalOf } from '../../refusal.ts'
import { request } from '../../request.ts'

/** An exported function. */
export type ExportedFunction = NodeAnswers['GET /api/wasm/exports']['exports'][number]

/** The end of a program that ended by itself or failed, and its output. */
export interface ProgramEnd extends Pick<NodeAnswers['POST /api/wasm/run'], 'stdout' | 'stderr'> {
  /** Null if it failed. */
  readonly exitCode: number | null
  /** The reason why it failed, otherwise empty. */
  readonly fault: string
}

/** The name under which a program exports its beginning (WASI, "Application ABI"). */
const start = '_start'

/** A stored module: its functions, or its program. */
export class WasmModule {
  /** The path of the file; `null` if none is chosen. */
  readonly path = signal<string | null>(null)
  /** The functions that can be called; `null` until the node has answered. */
  readonly functions = signal<readonly ExportedFunction[] | null>(null)
  /** Whether the module is a program. */
  readonly isProgram = signal(false)
  /** The reason why the module cannot be read. */
  readonly fault = signal('')
  readonly #page: PageContext

  constructor(page: PageContext) {
    this.#page = page
  }

  /** Reads the functions of a module. */
  async open(path: string | null): Promise<void> {
    this.path.value = path
    this.functions.value = null
    this.isProgram.value = false
    this.fault.value = ''
    if (path === null) return
    try {
      const { signal } = this.#page
      const { exports } = await request(this.#page, 'GET /api/wasm/exports', { query: { path }, signal })
      if (this.path.value !== path) return
      this.isProgram.value = exports.some(({ name }) => name === start)
      this.functions.value = exports.filter(({ name }) => name !== start)
    } catch (error) {
      if (this.path.value === path) this.fault.value = (error as Error).message
    }
  }

  /**
   * Calls a function with numbers as they are typed. The node tells if one does not fit its parameter.
   *
   * @returns the results, in words
   */
  async call(
    { name, parameters }: ExportedFunction,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<string> {
    const values = args.map((text, i) => argument(text.trim(), parameters[i] ?? 'f64'))
    const call = JSON.stringify({ filepath: this.path.value, function: name })
    const headers = { 'content-type': 'application/json' }
    const body = `${call.slice(0, -1)},"args":[${values}]}`
    const answer = await this.#page.fetch('/api/wasm/execute-file', { method: 'POST', headers, body, signal })
    const { result } = (await (await accepted(answer)).json()) as NodeAnswers['POST /api/wasm/execute-file']
    return Array.isArray(result) ? result.map(numberText).join(', ') : numberText(result)
  }

  /**
   * Runs the program. If it traps or reaches a limit, the error of the node has what it wrote until then.
   *
   * @throws Refusal for a program that has not begun
   */
  async run(args: readonly string[], stdin: string, signal: AbortSignal): Promise<ProgramEnd> {
    const body = JSON.stringify({ filepath: this.path.value, args, stdin })
    const headers = { 'content-type': 'application/json' }
    const answer = await this.#page.fetch('/api/wasm/run', { method: 'POST', headers, body, signal })
    if (answer.ok) return { ...((await answer.json()) as NodeAnswers['POST /api/wasm/run']), fault: '' }
    const text = await answer.text()
    const refusal = refusalOf(answer.status, text)
    const output = outputOf(text)
    if (output === null) throw refusal
    return { exitCode: null, fault: refusal.message, ...output }
  }
}

/** Returns the output in the error of a program that had begun; null in other errors. */
function outputOf(text: string): Pick<ProgramEnd, 'stdout' | 'stderr'> | null {
  try {
    const { stdout, stderr } = JSON.parse(text) as Partial<ProgramEnd>
    return stdout === undefined || stderr === undefined ? null : { stdout, stderr }
  } catch {
    // A proxy may answer with a page.
    return null
  }
}

/**
 * Writes an argument as JSON. A number stays as it is typed, because a number of JavaScript has no negative zero in JSON and not
 * all 64 bits. Integers of 64 bits are texts (README of the plugin `wasm`, "Numbers").
 */
function argument(text: string, type: ExportedFunction['parameters'][number]): string {
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text)
  return isNumber && type !== 'i64' ? text : JSON.stringify(text)
}

function numberText(value: unknown): string {
  return Object.is(value, -0) ? '-0' : String(value)
}
