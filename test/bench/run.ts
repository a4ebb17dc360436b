/**
 * `npm run bench [part …]`: measures, and prints each row when it is measured. A part is a file `test/bench/<part>.bench.ts`.
 * Without a part, all of them run.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { root } from '../run/command.ts'
import { reachedByChange } from '../run/reached.ts'
import type { Bench } from './bench.ts'
import { figureRow, withFigures } from './figures-table.ts'
import { figuresOf, measure } from './measure.ts'
import { benchesOf, findParts } from './parts.ts'
import { heading, jsonLine, line } from './table.ts'

interface Options {
  readonly changed?: string | true
  readonly json?: true
  readonly only: string
  readonly write?: true
}

const readme = join(import.meta.dirname, 'README.md')
const parts = await findParts()
const program = new Command('npm run bench --')
  .description('Measure the node beside its baselines.')
  .argument('[part...]', `${[...parts.keys()].join(', ')}; all of them if none is named`)
  .option('--changed [base]', `only the parts that a change reaches, of all since a commit (origin/main)`)
  .option('--json', 'print an object for each row')
  .option('--only <words>', 'only the rows that have these words in their names', '')
  .option('--write', 'write each row into the table of test/bench/README.md')
  .action(async (named: string[], options: Options) => run(await chosen(named, options), options))
await program.parseAsync()

/** The parts that the command line asks for. */
async function chosen(named: readonly string[], { changed }: Options): Promise<string[]> {
  for (const part of named)
    if (!parts.has(part))
      program.error(`There is no bench "${part}". There are: ${[...parts.keys()].join(', ')}.`)
  const asked = [...parts].filter(([part]) => named.length === 0 || named.includes(part))
  if (changed === undefined) return asked.map(([part]) => part)
  const files = asked.map(([, file]) => file)
  const reached = await reachedByChange(changed === true ? 'origin/main' : changed, files)
  const left = asked.filter(([, file]) => reached.has(file)).map(([part]) => part)
  console.error(left.length > 0 ? `The change reaches ${left.join(', ')}.` : 'The change reaches no part.')
  return left
}

/** Measures. Benches that fail and goals that are missed make the exit code 1, when all others are measured. */
async function run(asked: readonly string[], { json, only, write }: Options): Promise<void> {
  const names = (await Promise.all([...parts.values()].map(benchesOf))).flat().flatMap(namesOf)
  const measured = `${new Date().toISOString().slice(0, 10)} ${commit()}`
  if (!json) console.log(heading)
  for (const part of asked) {
    const began = performance.now()
    for (const bench of await benchesOf(parts.get(part) ?? '')) {
      if (!namesOf(bench).some((name) => name.includes(only))) continue
      if (bench.missing) console.error(`Skipped, as ${bench.missing} is not installed: ${bench.name}`)
      else await runBench(bench)
    }
    if (!json) console.log(`${part}: ${((performance.now() - began) / 60_000).toFixed(1)} minutes`)
  }

  async function runBench(bench: Bench): Promise<void> {
    try {
      for (const result of await measure(bench)) {
        console.log(json ? jsonLine(result) : line(result))
        if (!result.met) process.exitCode = 1
        if (write) {
          writeFileSync(
            readme,
            withFigures(readFileSync(readme, 'utf8'), names, [figureRow(result, measured)]),
          )
        }
      }
    } catch (error) {
      process.exitCode = 1
      console.error(`${bench.name} failed:`, error)
    }
  }
}

function namesOf(bench: Bench): string[] {
  return figuresOf(bench).map(({ name }) => name)
}

/** The commit of the sources, with `-dirty` if they differ from it. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const isDirty = git('status', '--porcelain', '--', ':!test/bench/README.md') !== ''
  return git('rev-parse', '--short', 'HEAD') + (isDirty ? '-dirty' : '')
}
