/**
 * `npm run test:faults -- [part …] [--rounds N] [--seed S] [--minutes M]`: long random tests. A part is a file `<part>.faults.ts`, in
 * `test/faults` or in the tests of the package that it is about. Without a part, all run. The last line is `N passed, N failed`, in rounds.
 */
import { randomInt } from 'node:crypto'
import { glob } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { closingLine } from '../run/count-tests.ts'
import type { Fault } from './fault.ts'
import { runFaults } from './run-faults.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '45' },
  },
})
const parts = await loadParts()
const rounds = wholeNumber('rounds', values.rounds)
const seed = wholeNumber('seed', values.seed) ?? randomInt(2 ** 32)
const minutes = wholeNumber('minutes', values.minutes) ?? 0

console.log(`seed ${seed}`)
const options = { seed, minutes, ...(rounds !== undefined && { rounds }), print: console.log }
const counts = await runFaults(parts, options)
console.log(closingLine(counts))
// A round that timed out may keep the process alive.
process.exit(counts.failed > 0 ? 1 : 0)

async function loadParts(): Promise<Map<string, Fault>> {
  const root = join(import.meta.dirname, '../..')
  const found = glob(['test/faults/*.faults.ts', 'plugins/*/test/**/*.faults.ts'], { cwd: root })
  const files = new Map((await Array.fromAsync(found)).map((file) => [basename(file, '.faults.ts'), file]))
  const names = [...files.keys()].sort()
  const unknown = positionals.filter((part) => !names.includes(part))
  if (unknown.length > 0) fail(`There is no part "${unknown.join('", "')}". There are: ${names.join(', ')}.`)
  const loaded = new Map<string, Fault>()
  for (const part of positionals.length > 0 ? positionals : names) {
    const { default: fault } = (await import(join(root, files.get(part) ?? ''))) as { default: Fault }
    loaded.set(part, fault)
  }
  return loaded
}

function wholeNumber(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!/^\d+$/.test(value)) fail(`--${name} takes a whole number, not "${value}".`)
  return Number(value)
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
