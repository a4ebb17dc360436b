/**
 * `npm run test:faults -- [part …] [--rounds N] [--seed S] [--minutes M]`: long random tests. A part is a file `<part>.faults.ts`, in
 * `test/faults` or in the tests of the package that it is about. Without a part, all run. The last line is `N passed, N failed`, in rounds.
 */
import { randomInt } from 'node:crypto'
import { glob } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { root } from '../run/command.ts'
import { closingLine } from '../run/count-tests.ts'
import type { Fault } from './fault.ts'
import { runFaults } from './run-faults.ts'

const files = await findParts()
const program = new Command('npm run test:faults --')
  .description('Run long random tests with crashes. The last line is `N passed, N failed`, in rounds.')
  .argument('[part...]', `${[...files.keys()].join(', ')}; all of them if none is named`)
  .option('--rounds <number>', "rounds of each part, instead of the part's own number", wholeNumber)
  .option('--seed <number>', 'the seed of the first round, to repeat a failure', wholeNumber)
  .option('--minutes <number>', 'the time after which no further round begins', wholeNumber, 45)
  .parse()
const { seed = randomInt(2 ** 32), ...options } = program.opts<{
  rounds?: number
  seed?: number
  minutes: number
}>()
const parts = await loadParts(program.args)

console.log(`seed ${seed}`)
const counts = await runFaults(parts, { ...options, seed, print: console.log })
console.log(closingLine(counts))
// A round that timed out may keep the process alive.
process.exit(counts.failed > 0 ? 1 : 0)

/** Returns the files of all parts, by name. */
async function findParts(): Promise<ReadonlyMap<string, string>> {
  const found = await Array.fromAsync(
    glob(['test/faults/*.faults.ts', 'plugins/*/test/**/*.faults.ts'], { cwd: root }),
  )
  const named = found.map((file) => [basename(file, '.faults.ts'), file] as const)
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function loadParts(asked: readonly string[]): Promise<Map<string, Fault>> {
  const unknown = asked.filter((part) => !files.has(part))
  if (unknown.length > 0)
    program.error(`There is no part "${unknown.join('", "')}". There are: ${[...files.keys()].join(', ')}.`)
  const loaded = new Map<string, Fault>()
  for (const part of asked.length > 0 ? asked : files.keys()) {
    const { default: fault } = (await import(join(root, files.get(part) ?? ''))) as { default: Fault }
    loaded.set(part, fault)
  }
  return loaded
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
