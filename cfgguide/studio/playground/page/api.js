// Calls of the server. An answer with an `error` is an answer; what cannot be reached is told, too.

const key = new URLSearchParams(location.search).get("key") ?? "";
export const tab = crypto.randomUUID();

export async function call(name, body = {}, { signal, keepalive = false } = {}) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Playground-Key": key },
      body: JSON.stringify({ tab, ...body }),
      signal,
      keepalive,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { error: { code: "gone", message: "The server does not answer. Is `cfgguide playground` still running?" } };
  }
  try {
    return await response.json();
  } catch {
    return { error: { code: "http", message: `The server answered with status ${response.status}.` } };
  }
}

// One call of a kind at a time: a newer one waits for the older, and takes the place of one that waits.
export function latest(work) {
  let isRunning = false;
  let isWanted = false;
  return async function again() {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    try {
      while (isWanted) {
        isWanted = false;
        await work(() => isWanted);
      }
    } finally {
      isRunning = false;
    }
  };
}
