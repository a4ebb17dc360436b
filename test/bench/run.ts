/**
 * `npm run bench [part …]`: measures, and prints a table. A part is a file `test/bench/<part>.bench.ts`. Without a part, all of
 * them run.
 */
import { glob } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { changedFiles, defaultBase, reachedFiles } from '../walls/reached.ts'
import type { Bench, BenchResult } from './bench.ts'
import { measure } from './measure.ts'
import { jsonLine, table } from './table.ts'

interface Options {
  readonly changed?: string | true
  readonly json?: true
  readonly only: string
}

const files = await benchFiles()
const program = new Command('npm run bench --')
  .description('Measure the node beside its baselines.')
  .argument('[part...]', `${[...files.keys()].join(', ')}; all of them if none is named`)
  .option('--changed [base]', `only the parts that a change reaches, of all since a commit (${defaultBase})`)
  .option('--json', 'print an object for each row')
  .option('--only <words>', 'only the rows that have these words in their names', '')
  .action(async (named: string[], options: Options) => run(await chosen(named, options), options))
await program.parseAsync()

async function benchFiles(): Promise<Map<string, string>> {
  const found = await Array.fromAsync(glob('*.bench.ts', { cwd: import.meta.dirname }))
  return new Map(found.sort().map((file) => [basename(file, '.bench.ts'), file]))
}

/** The parts that the command line asks for. */
async function chosen(named: readonly string[], { changed }: Options): Promise<string[]> {
  for (const part of named)
    if (!files.has(part))
      program.error(`There is no bench "${part}". There are: ${[...files.keys()].join(', ')}.`)
  const parts = [...files].filter(([part]) => named.length === 0 || named.includes(part))
  if (changed === undefined) return parts.map(([part]) => part)
  const reached = await reachedFiles(await changedFiles(changed === true ? defaultBase : changed))
  const left = parts.filter(([, file]) => reached.has(`test/bench/${file}`)).map(([part]) => part)
  console.error(left.length > 0 ? `The change reaches ${left.join(', ')}.` : 'The change reaches no part.')
  return left
}

async function run(parts: readonly string[], { json, only }: Options): Promise<void> {
  const results: BenchResult[] = []
  for (const part of parts) {
    const { default: benches } = (await import(`./${files.get(part)}`)) as { default: readonly Bench[] }
    for (const bench of benches) {
      if (!bench.name.includes(only)) continue
      if (!json) console.error(`… ${bench.name}`)
      const result = await measure(bench)
      results.push(result)
      if (json) console.log(jsonLine(result))
    }
  }
  if (!json) console.log(`\n${table(results)}`)
}
