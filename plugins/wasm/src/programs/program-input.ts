import { NodekeepError, type WasmProgramRun } from '@nodekeep/plugin-sdk'
import { decodeBase64 } from '../modules/base64.ts'
import { shortened } from '../shortened.ts'

/** What a request says of a program's input. */
export interface InputWish {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Of `stdin`. */
  readonly encoding: 'utf8' | 'base64'
}

/**
 * What a program is given, but for folders.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function programInput(wish: InputWish): Omit<WasmProgramRun, 'preopens'> {
  const { args = [], env = {}, stdin = '', encoding } = wish
  for (const [index, text] of args.entries()) checkText(text, `"args.${index}"`)
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('=')) throw invalid('"env" has a name that is empty or contains "=".')
    checkText(name, 'A name in "env"')
    checkText(value, `"env.${shortened(name)}"`)
  }
  return { args, env, stdin: inputBytes(stdin, encoding) }
}

function inputBytes(stdin: string, encoding: 'utf8' | 'base64'): Uint8Array {
  if (encoding === 'base64') {
    const bytes = decodeBase64(stdin)
    if (bytes === undefined) throw invalid('"stdin" is not valid base64, as "encoding" says.')
    return bytes
  }
  if (!stdin.isWellFormed()) throw invalid('"stdin" is not valid Unicode text. Use "encoding": "base64".')
  return Buffer.from(stdin)
}

/** Programs get their texts in UTF-8, each with a NUL at its end. */
function checkText(text: string, what: string): void {
  if (text.includes('\0')) throw invalid(`${what} contains the character NUL.`)
  if (!text.isWellFormed()) throw invalid(`${what} is not valid Unicode text.`)
}

function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}
