/** Registers one test, as `test` of node:test, tap and others does. The suites know no test runner. */
export type ConformanceTest = (name: string, run: () => Promise<void>) => unknown
