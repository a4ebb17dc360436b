import * as texts from './texts.ts'

/** The names in a User-Agent header. Many browsers also name those that they descend from, so the order counts. */
const browsers = { Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' }
const systems = {
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  Windows: 'Windows',
  'Mac OS X': 'macOS',
  CrOS: 'ChromeOS',
  Linux: 'Linux',
}

/** Returns a short name of the program that signed in, such as `Firefox on Windows`. Other programs keep their own names. */
export function deviceName(userAgent: string): string {
  const named = (names: Readonly<Record<string, string>>) =>
    Object.entries(names).find(([part]) => userAgent.includes(part))?.[1]
  const [browser, system] = [named(browsers), named(systems)]
  return browser === undefined || system === undefined
    ? userAgent
    : texts.account.sessions.on(browser, system)
}
