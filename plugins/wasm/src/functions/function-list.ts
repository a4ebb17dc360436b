import { NodekeepError, type WasmFunctionExport, type WasmValueType } from '@nodekeep/plugin-sdk'

const numeric: readonly string[] = ['i32', 'i64', 'f32', 'f64'] satisfies WasmValueType[]

/** Characters of function names in a message. */
const roomForNames = 1000

/** The exported functions that can be called: those whose parameters and results are all numbers. */
export class FunctionList {
  /** In the module's order. */
  readonly all: readonly WasmFunctionExport[]
  readonly #byName: ReadonlyMap<string, WasmFunctionExport>

  constructor(all: readonly WasmFunctionExport[]) {
    this.all = all.filter(({ parameters, results }) =>
      [...parameters, ...results].every((type) => numeric.includes(type)),
    )
    this.#byName = new Map(this.all.map((found) => [found.name, found]))
  }

  /** @throws NodekeepError NOT_FOUND that lists the existing names */
  named(name: string): WasmFunctionExport {
    const found = this.#byName.get(name)
    if (found !== undefined) return found
    throw new NodekeepError(
      'NOT_FOUND',
      `The module has no function "${name.slice(0, 100)}" that can be called. ${this.#described()}`,
    )
  }

  #described(): string {
    if (this.all.length === 0) return 'It exports no function that could be called.'
    const names: string[] = []
    let room = roomForNames
    for (const { name } of this.all) {
      room -= name.length + 2
      if (room < 0) break
      names.push(name)
    }
    const left = this.all.length - names.length
    if (names.length === 0) return `It exports ${left}, with names too long to tell.`
    return `It exports: ${names.join(', ')}${left === 0 ? '' : `, and ${left} more`}.`
  }
}
