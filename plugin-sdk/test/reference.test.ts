import { readFileSync } from 'node:fs'
import { errorStatus } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import manifest from '../package.json' with { type: 'json' }
import { exportedNames } from './exported-names.ts'

const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test('The reference names exactly the exports', async (t) => {
  const entries = Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [{ path, source: target['nodekeep-source'].slice(2) }],
  )
  const exported = exportedNames(entries.map(({ source }) => source))
  for (const { path, source } of entries) {
    const described = firstColumn(referenceOf(path))
    t.strictSame(described.toSorted(), exported.get(source)?.toSorted(), path)
  }
})

test('The table of errors equals the codes of the SDK', async (t) => {
  const rows = [...section('Errors').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)]
  const described = Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]))
  t.strictSame(described, { ...errorStatus })
})

test('A heading that is there twice is refused', async (t) => {
  t.throws(() => section('Errors', `${page}\n## Errors\n`), /2 times/)
})

/** Returns the reference of one entry of the package: `.`, or a path that has a heading of its own. */
function referenceOf(entry: string): string {
  const [main = '', ...others] = section('Reference').split(/^### `@nodekeep\/plugin-sdk\//m)
  return entry === '.' ? main : only(others, `${entry.slice(2)}\``)
}

function section(title: string, document = page): string {
  return only(document.split(/^## /m), `${title}\n`)
}

/** @throws Error if not exactly one text has this start */
function only(texts: readonly string[], start: string): string {
  const found = texts.filter((text) => text.startsWith(start))
  if (found.length !== 1) throw new Error(`The heading "${start.trim()}" is there ${found.length} times.`)
  return found.join()
}

function firstColumn(text: string): string[] {
  return [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name ?? '')
}
