import { noteAnswer, noteSilence } from "./answers.js";

/** Why the gateway did not answer as asked. */
export class RequestFailure extends Error {
  /**
   * @param {string} code a word of the gateway, or `no_gateway` if nothing answered
   * @param {string} message a sentence for people
   * @param {number} status the HTTP status; 0 if nothing answered
   * @param {boolean} isRetryable whether the same request may succeed later
   */
  constructor(code, message, status, isRetryable) {
    super(message);
    this.code = code;
    this.status = status;
    this.isRetryable = isRetryable;
  }
}

/**
 * Sends a request to the gateway.
 *
 * @param {string} path with the query
 * @param {RequestInit} options those of fetch
 * @returns {Promise<Response>} of a status from 200 to 299
 * @throws {RequestFailure}
 */
export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    noteSilence();
    throw new RequestFailure("no_gateway", "The gateway does not answer.", 0, true);
  }
  noteAnswer();
  if (!response.ok) {
    throw await failure(response);
  }
  return response;
}

/** Sends a request and parses the answer, which is JSON. */
export async function requestJSON(path, options = {}) {
  return parsed(await request(path, options));
}

/**
 * Parses an answer, which is JSON.
 *
 * @param {Response} response
 * @throws {RequestFailure}
 */
export async function parsed(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new RequestFailure("no_gateway", "The answer of the gateway was cut off.", 0, true);
  }
}

/** Reads the failure that an answer describes; one without a description gets one of its status. */
async function failure(response) {
  const plain = {
    code: "http_status", message: `The gateway answered ${response.status}.`,
    retryable: response.status >= 500,
  };
  let described;
  try {
    described = (await response.json()).error;
  } catch {
    described = plain;
  }
  const { code, message, retryable } = { ...plain, ...described };
  return new RequestFailure(code, message, response.status, retryable);
}
