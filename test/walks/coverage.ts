import { type Profiler, Session } from 'node:inspector'

/** How often each function ran, by `<url of the file>#<offset and name of the function>`. */
export type Calls = ReadonlyMap<string, number>

/** Counts the calls of functions in this process, by V8's precise coverage. The top level of a module does not count. */
export class CallCounter {
  readonly #session = new Session()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  }

  /** The calls since the start, or since `take` was called last. */
  take(): Calls {
    const calls = new Map<string, number>()
    // A session within its own process answers before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      for (const { url, functions } of result) for (const called of functions) this.#add(calls, url, called)
    })
    return calls
  }

  #add(calls: Map<string, number>, url: string, { functionName, ranges }: Profiler.FunctionCoverage): void {
    const [whole] = ranges
    if (whole === undefined || whole.count === 0 || whole.startOffset === 0) return
    calls.set(`${url}#${whole.startOffset} ${functionName}`, whole.count)
  }
}
