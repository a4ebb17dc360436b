import { type Expression, type List, readExpressions } from './s-expression.ts'

/** One assertion of a script about the module before it. */
export interface Assertion {
  readonly kind: 'assert_return' | 'assert_trap'
  /** The line of the assertion, from 1. */
  readonly line: number
  readonly name: string
  /** Constants, such as `(f32.const 0x1p-149)`. */
  readonly args: readonly string[]
  /** Constants, or the pattern `(f32.const nan:canonical)`. */
  readonly results: readonly string[]
}

/** A module of a script in the text format, and its assertions. */
export interface ScriptModule {
  readonly line: number
  readonly text: string
  /** Whether the engine must refuse the module. */
  readonly invalid: boolean
  readonly assertions: Assertion[]
}

/**
 * Reads a script in the form of the official test suite (WebAssembly/spec, "interpreter/README.md", "Scripts").
 *
 * @throws Error for an unknown command: the reader skips nothing
 */
export function readScript(source: string): ScriptModule[] {
  const modules: ScriptModule[] = []
  for (const command of readExpressions(source)) {
    const [head, first, ...rest] = command.items
    const line = lineAt(source, command.start)
    const kind = head?.kind === 'atom' ? head.value : ''
    if (kind === 'module') {
      modules.push({ line, text: textOf(source, command), invalid: false, assertions: [] })
    } else if (kind === 'assert_invalid' && first?.kind === 'list') {
      modules.push({ line, text: textOf(source, first), invalid: true, assertions: [] })
    } else if (kind === 'assert_return' || kind === 'assert_trap') {
      const module = modules.findLast(({ invalid }) => !invalid)
      const { name, args } = invocation(source, first, line)
      const results = kind === 'assert_trap' ? [] : rest.map((result) => textOf(source, result))
      module?.assertions.push({ kind, line, name, args, results })
    } else throw new Error(`The command "${kind}" in line ${line} is not understood.`)
  }
  return modules
}

function invocation(source: string, action: Expression | undefined, line: number) {
  if (action?.kind === 'list') {
    const [head, name, ...args] = action.items
    if (head?.kind === 'atom' && head.value === 'invoke' && name?.kind === 'text') {
      return { name: name.value, args: args.map((arg) => textOf(source, arg)) }
    }
  }
  throw new Error(`Line ${line} asserts something of what is no call.`)
}

function textOf(source: string, expression: Expression): string {
  const { start, end } = expression as List
  return source.slice(start, end)
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length
}
