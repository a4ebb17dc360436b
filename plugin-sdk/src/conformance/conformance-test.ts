import assert from 'node:assert/strict'

/** The argument that a runner passes to each test. */
interface ConformanceContext {
  /**
   * Marks the running test as skipped. The suites pass both arguments, because tap's `skip` also takes a test, which it does
   * not run. `skip` may throw to end the test, as Vitest's does.
   */
  skip(reason: string, nothing: () => Promise<void>): unknown
}

/** Registers one test, as `test` of node:test, tap and Vitest does. The suites depend on no test runner. */
export type ConformanceTest = (name: string, run: (context: ConformanceContext) => Promise<void>) => unknown

/**
 * Registers one test, which gets a subject of its own. If the subject lacks the tested ability, the test must not pass:
 * it returns `skip(reason)`.
 */
export type ConformanceCheck<Subject> = (
  name: string,
  run: (subject: Subject, skip: (reason: string) => void) => Promise<void>,
) => void

/** Returns a function that registers tests. Each gets a subject that was made for it, and that is closed after it. */
export function checksOf<Subject>(
  test: ConformanceTest,
  make: () => Promise<Subject>,
  close: (subject: Subject) => Promise<void> | undefined,
): ConformanceCheck<Subject> {
  return (name, run) => {
    test(name, async (context) => {
      const skip = (reason: string) => {
        // A harness without types may pass a runner that has no context. Its test must not pass.
        const canSkip = typeof context?.skip === 'function'
        assert.ok(
          canSkip,
          `${reason} Pass the suite a function "test" whose tests get a context with "skip".`,
        )
        context.skip(reason, async () => {})
      }
      const subject = await make()
      try {
        await run(subject, skip)
      } finally {
        await close(subject)
      }
    })
  }
}
