/**
 * Loaded into a worker thread or a process before its own code. It appends the calls since the last time to a file, as a line of
 * JSON. The file is in the query of this module's URL.
 */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { CallCounter } from './coverage.ts'
import { reportWorkers } from './reports.ts'

const file = new URL(import.meta.url).searchParams.get('file') ?? ''
const counter = new CallCounter()
const report = () => {
  const calls = [...counter.take()].filter(([name]) => !name.includes('/test/walks/'))
  if (calls.length > 0) appendFileSync(file, `${JSON.stringify(calls)}\n`)
}
if (isMainThread) reportWorkers(import.meta.url)
setInterval(report, 20).unref()
process.once('exit', report)
