const RealDate = Date

/**
 * Sets the clock of this process, for tests of clocks that are wrong: from now on, `Date` counts from another time. Timers and
 * `performance.now()` go on as before, and so do other threads.
 *
 * @param time `null` for the clock of the machine; a test ends so
 */
export function setClock(time: Date | null): void {
  if (time === null) {
    globalThis.Date = RealDate
    return
  }
  const aheadMs = time.getTime() - RealDate.now()
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [target.now() + aheadMs] : given, newTarget),
    get: (target, property, receiver) =>
      property === 'now' ? () => target.now() + aheadMs : Reflect.get(target, property, receiver),
  })
}
