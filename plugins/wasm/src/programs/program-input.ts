import { invalid, type WasmProgramRun } from '@nodekeep/plugin-sdk'

/** The input of a program as a request gives it. */
interface RequestedInput {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** How `stdin` is written. */
  readonly encoding: 'utf8' | 'base64'
}

/**
 * Checks the input of a program, folders apart.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function programInput(requested: RequestedInput): Omit<WasmProgramRun, 'preopens'> {
  const { args = [], env = {}, stdin = '', encoding } = requested
  for (const [index, text] of args.entries()) checkText(text, `"args.${index}"`)
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('=')) throw invalid('"env" has a name that is empty or contains "=".')
    checkText(name, 'A name in "env"')
    checkText(value, `"env.${name.length <= 100 ? name : `${name.slice(0, 100)}…`}"`)
  }
  return { args, env, stdin: inputBytes(stdin, encoding) }
}

function inputBytes(stdin: string, encoding: 'utf8' | 'base64'): Uint8Array {
  if (encoding === 'base64') {
    const bytes = Buffer.from(stdin, 'base64')
    // Node skips characters that are not base64. Written back, a text that had any is another one.
    if (bytes.toString('base64') !== stdin) throw invalid('"stdin" is not valid base64, as "encoding" says.')
    return bytes
  }
  if (!stdin.isWellFormed()) throw invalid('"stdin" is not valid Unicode text. Use "encoding": "base64".')
  return Buffer.from(stdin)
}

/** WASI gives programs their texts in UTF-8, each with a NUL at its end. */
function checkText(text: string, what: string): void {
  if (text.includes('\0')) throw invalid(`${what} contains the character NUL.`)
  if (!text.isWellFormed()) throw invalid(`${what} is not valid Unicode text.`)
}
