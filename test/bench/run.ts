/**
 * `npm run bench [part …] [-- --json] [--only words]`: measures, and prints a table, or with `--json` one object per line. A part is
 * a file `test/bench/<part>.bench.ts`. Without a part, all of them run. `--only` leaves out benches without these words in their name.
 */
import { glob } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench, BenchResult } from './bench.ts'
import { measure } from './measure.ts'
import { jsonLine, table } from './table.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, only: { type: 'string', default: '' } },
})
const files = await benchFiles()
const unknown = positionals.filter((part) => !files.has(part))
if (unknown.length > 0) {
  console.error(`There is no bench "${unknown.join('", "')}". There are: ${[...files.keys()].join(', ')}.`)
  process.exitCode = 1
} else {
  await run(positionals.length > 0 ? positionals : [...files.keys()])
}

async function benchFiles(): Promise<Map<string, URL>> {
  const found = await Array.fromAsync(glob('*.bench.ts', { cwd: import.meta.dirname }))
  return new Map(found.sort().map((file) => [basename(file, '.bench.ts'), new URL(file, import.meta.url)]))
}

async function run(parts: readonly string[]): Promise<void> {
  const results: BenchResult[] = []
  for (const part of parts) {
    const { default: benches } = (await import(String(files.get(part)))) as { default: readonly Bench[] }
    for (const bench of benches) {
      if (!bench.name.includes(values.only)) continue
      if (!values.json) console.error(`… ${bench.name}`)
      const result = await measure(bench)
      results.push(result)
      if (values.json) console.log(jsonLine(result))
    }
  }
  if (!values.json) console.log(`\n${table(results)}`)
}
